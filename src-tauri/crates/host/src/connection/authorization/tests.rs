//! Tests of signing in, at an authorization server in this process, through whole connections.

mod place;

use std::{
    collections::BTreeMap,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use serde_json::{Value, json};
use usher_protocol::codec::CallRequest;

use self::place::Place;
use super::{sign_in::checked, *};
use crate::connection::{
    CallError, CallOptions, ConnectError, Connection, ConnectionOptions, EventReceiver, HttpSpec, events,
};

#[derive(Default)]
struct Drawer(Mutex<BTreeMap<String, String>>);

impl CredentialKeeper for Drawer {
    fn credential(&self, name: &str) -> Result<Option<String>, String> {
        Ok(self.0.lock().unwrap().get(name).cloned())
    }

    fn keep_credential(&self, name: &str, value: Option<&str>) -> Result<(), String> {
        let mut all = self.0.lock().unwrap();
        match value {
            Some(value) => all.insert(name.to_owned(), value.to_owned()),
            None => all.remove(name),
        };
        Ok(())
    }
}

/// A person at a browser.
#[derive(Default)]
struct Person {
    visits: Mutex<Vec<Visit>>,
    declines: AtomicBool,
    has_no_browser: AtomicBool,
    /// Knocks at the host's port with these queries before the real one.
    knocks: Vec<&'static str>,
    /// What the host answered to each knock.
    answers: Mutex<Vec<(u16, String)>>,
    /// Agrees only after the server refused so often.
    patient: Mutex<Option<(watch::Receiver<u32>, u32)>>,
}

impl Person {
    fn visits(&self) -> usize {
        self.visits.lock().unwrap().len()
    }
}

impl Browser for Person {
    fn may_open<'a>(&'a self, visit: &'a Visit) -> BoxFuture<'a, bool> {
        self.visits.lock().unwrap().push(visit.clone());
        let patient = self.patient.lock().unwrap().take();
        Box::pin(async move {
            if let Some((mut refusals, wanted)) = patient {
                refusals.wait_for(|it| *it >= wanted).await.unwrap();
            }
            !self.declines.load(Ordering::Relaxed)
        })
    }

    fn open_browser<'a>(&'a self, url: &'a str) -> BoxFuture<'a, Result<Visited, String>> {
        Box::pin(async move {
            if self.has_no_browser.load(Ordering::Relaxed) {
                return Err("there is none".to_owned());
            }
            let client =
                reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build().unwrap();
            let response = client.get(url).send().await.unwrap();
            let place = response.headers()["location"].to_str().unwrap().to_owned();
            let port = Url::parse(&place).unwrap().port().unwrap();
            let knocks = self.knocks.iter().map(|it| format!("http://127.0.0.1:{port}{it}"));
            for address in knocks.chain([place]) {
                let answer = client.get(address).send().await.unwrap();
                let heard = (answer.status().as_u16(), answer.text().await.unwrap());
                self.answers.lock().unwrap().push(heard);
            }
            Ok(Visited::Outside)
        })
    }
}

/// A host, its person, and what it keeps.
struct World {
    place: Arc<Place>,
    person: Arc<Person>,
    drawer: Arc<Drawer>,
    settings: AuthorizationSettings,
}

impl World {
    async fn new(person: Person) -> Self {
        Self {
            place: Place::open().await,
            person: Arc::new(person),
            drawer: Arc::default(),
            settings: AuthorizationSettings::default(),
        }
    }

    /// What a host that was just started has.
    fn authorization(&self) -> Authorization {
        let (keeper, browser) = (Arc::clone(&self.drawer), Arc::clone(&self.person));
        Authorization::new(&self.place.server(), self.settings.clone(), keeper, browser).unwrap()
    }

    async fn open(&self, authorization: &Authorization) -> (Result<Connection, ConnectError>, EventReceiver) {
        let (sender, receiver) = events();
        let spec = HttpSpec { url: self.place.server(), ..HttpSpec::default() }.into();
        let authorization = Some(authorization.clone());
        let options = ConnectionOptions { authorization, ..ConnectionOptions::default() };
        (Connection::open(&spec, &options, sender).await, receiver)
    }

    async fn connect(&self) -> Connection {
        self.open(&self.authorization()).await.0.unwrap()
    }

    async fn refused(&self) -> AuthorizationError {
        match self.open(&self.authorization()).await.0 {
            Err(ConnectError::NotAuthorized(error)) => error,
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was let in"),
        }
    }

    /// The server lets nobody in any more, and there is nothing to renew.
    fn revoke(&self) {
        let mut script = self.place.script();
        script.tokens.clear();
        script.refresh_tokens.clear();
    }
}

async fn call(connection: &Connection) -> Result<usher_protocol::RawJson, CallError> {
    let call = CallRequest { name: "it".to_owned(), arguments: json!({}).into(), requested: None };
    connection.call(&call, CallOptions::default()).await
}

fn texts(values: &[Value], name: &str) -> Vec<String> {
    values.iter().map(|it| it[name].as_str().unwrap_or_default().to_owned()).collect()
}

#[tokio::test]
async fn a_refusal_leads_to_a_sign_in_and_the_token_is_carried_and_kept() {
    let world = World::new(Person::default()).await;
    let connection = world.connect().await;
    call(&connection).await.unwrap();
    let visits = world.person.visits.lock().unwrap().clone();
    assert_eq!(visits.len(), 1);
    assert_eq!(visits[0].server, world.place.server());
    assert_eq!(visits[0].issuer, world.place.issuer("one"));
    assert!(!visits[0].guessed && !visits[0].step_up);
    let registered = world.place.seen("POST /one/register");
    assert_eq!(texts(&registered, "application_type"), ["native"]);
    let authorize = world.place.seen("GET /one/authorize");
    assert_eq!(texts(&authorize, "resource"), [world.place.server()]);
    assert_eq!(texts(&authorize, "code_challenge_method"), ["S256"]);
    assert_eq!(texts(&world.place.seen("POST /one/token"), "resource"), [world.place.server()]);
    // A host that is started again is let in at once.
    let refusals = *world.place.refusals.borrow();
    let authorization = world.authorization();
    world.open(&authorization).await.0.unwrap();
    assert_eq!(authorization.signed_in_at().await, Some(world.place.issuer("one")));
    assert_eq!((world.person.visits(), *world.place.refusals.borrow()), (1, refusals));
    authorization.sign_out().await.unwrap();
    assert!(world.drawer.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn an_authorization_server_that_does_not_protect_the_code_is_refused() {
    for methods in [Value::Null, json!([]), json!(["plain"])] {
        let world = World::new(Person::default()).await;
        world.place.script().methods = methods;
        let issuer = world.place.issuer("one");
        assert_eq!(world.refused().await, AuthorizationError::NoPkce { issuer });
        assert_eq!((world.person.visits(), world.place.script().seen.len()), (0, 0));
    }
}

#[tokio::test]
async fn a_registration_that_was_forgotten_is_made_anew_once() {
    let world = World::new(Person::default()).await;
    world.place.script().renewable = false;
    let connection = world.connect().await;
    world.revoke();
    world.place.script().clients.clear();
    call(&connection).await.unwrap();
    assert_eq!(world.place.seen("POST /one/register").len(), 2);
    assert_eq!(world.person.visits(), 3);
    // The port that the browser comes back to is the one that was registered.
    let uris: Vec<_> = texts(&world.place.seen("GET /one/authorize"), "redirect_uri");
    assert_eq!(uris[0], uris[1]);
    // One that forgets everybody at once is left alone.
    world.revoke();
    world.place.script().amnesia = true;
    let error = call(&connection).await.unwrap_err();
    let CallError::NotAuthorized(AuthorizationError::Refused { code, .. }) = &error else {
        panic!("{error}")
    };
    assert_eq!(code, "invalid_client");
    assert_eq!(world.place.seen("POST /one/register").len(), 3);
}

#[tokio::test]
async fn a_registration_that_cannot_renew_any_more_is_made_anew() {
    let world = World::new(Person::default()).await;
    let connection = world.connect().await;
    world.revoke();
    world.place.script().clients.clear();
    call(&connection).await.unwrap();
    assert_eq!((world.place.seen("POST /one/register").len(), world.person.visits()), (2, 2));
}

#[tokio::test]
async fn a_registration_whose_port_is_taken_is_made_anew() {
    let world = World::new(Person::default()).await;
    world.connect().await;
    let before = texts(&world.place.seen("GET /one/authorize"), "redirect_uri");
    let port = Url::parse(&before[0]).unwrap().port().unwrap();
    let _taken = tokio::net::TcpListener::bind(("127.0.0.1", port)).await.unwrap();
    world.revoke();
    world.connect().await;
    let registered = world.place.seen("POST /one/register");
    let authorized = texts(&world.place.seen("GET /one/authorize"), "redirect_uri");
    assert_eq!(registered.len(), 2);
    assert_eq!(registered[1]["redirect_uris"], json!([authorized[1]]));
    assert_ne!(authorized[0], authorized[1]);
}

#[tokio::test]
async fn what_another_process_renewed_is_taken_over() {
    let world = World::new(Person::default()).await;
    let (one, other) = (world.connect().await, world.connect().await);
    world.place.script().tokens.clear();
    call(&one).await.unwrap();
    // The refresh token that it holds was used up by the first.
    call(&other).await.unwrap();
    assert_eq!((world.place.seen("POST /one/token").len(), world.person.visits()), (2, 1));
}

#[tokio::test]
async fn requests_that_are_refused_at_the_same_time_share_a_sign_in() {
    let world = World::new(Person::default()).await;
    let connection = world.connect().await;
    world.revoke();
    let refusals = world.place.refusals.subscribe();
    let both = *refusals.borrow() + 2;
    *world.person.patient.lock().unwrap() = Some((refusals, both));
    let (one, two, three) = tokio::join!(call(&connection), call(&connection), connection.list_tools());
    one.unwrap();
    two.unwrap();
    three.unwrap();
    assert_eq!(world.person.visits(), 2);
}

#[tokio::test]
async fn a_caller_who_gives_up_leaves_the_sign_in_to_the_others() {
    let world = World::new(Person::default()).await;
    let authorization = world.authorization();
    let connection = world.open(&authorization).await.0.unwrap();
    world.revoke();
    let agreed = watch::Sender::new(0);
    *world.person.patient.lock().unwrap() = Some((agreed.subscribe(), 1));
    let waiting = || {
        let running = authorization.0.held().signing_in.as_ref().and_then(WeakShared::upgrade);
        // Without this look at it.
        running.and_then(|it| it.strong_count()).map_or(0, |it| it - 1)
    };
    let cancel = tokio_util::sync::CancellationToken::new();
    let first = async {
        let call = CallRequest { name: "it".to_owned(), arguments: json!({}).into(), requested: None };
        let options = CallOptions { cancel: cancel.clone(), ..CallOptions::default() };
        let outcome = connection.call(&call, options).await;
        agreed.send_replace(1);
        outcome
    };
    let second = async {
        while waiting() < 1 {
            tokio::task::yield_now().await;
        }
        call(&connection).await
    };
    let gives_up = async {
        while waiting() < 2 {
            tokio::task::yield_now().await;
        }
        cancel.cancel();
    };
    let (first, second, ()) = tokio::join!(first, second, gives_up);
    assert_eq!(first, Err(CallError::Cancelled));
    second.unwrap();
    assert_eq!(world.person.visits(), 2);
}

#[tokio::test]
async fn an_answer_from_somebody_else_is_not_used() {
    let world = World::new(Person::default()).await;
    world.place.script().iss = Some("https://mallory.example");
    let error = world.refused().await;
    let expected = world.place.issuer("one");
    let received = Some("https://mallory.example".to_owned());
    assert_eq!(error, AuthorizationError::WrongIssuer { expected, received });
    assert_eq!(world.place.seen("POST /one/token"), Vec::<Value>::new());
}

#[tokio::test]
async fn what_one_authorization_server_handed_out_is_not_shown_to_another() {
    let world = World::new(Person::default()).await;
    let connection = world.connect().await;
    let before = world.place.script().seen.len();
    {
        let mut script = world.place.script();
        script.tokens.clear();
        script.issuer = "two";
    }
    call(&connection).await.unwrap();
    let after: Vec<_> = world.place.script().seen[before..].to_vec();
    let asked: Vec<_> = after.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(asked, ["POST /two/register", "GET /two/authorize", "POST /two/token"]);
    let text = format!("{after:?}");
    for kept in ["client-one", "SECRET-refresh", "SECRET-access"] {
        assert!(!text.contains(kept), "{kept} in {text}");
    }
    // Nor by a host that was started again in between.
    let world = World::new(Person::default()).await;
    world.place.script().expires_in = 0;
    world.connect().await;
    {
        let mut script = world.place.script();
        script.expires_in = 3600;
        script.tokens.clear();
        script.issuer = "two";
    }
    world.connect().await;
    let text = format!("{:?}", world.place.seen("POST /two/token"));
    assert!(!text.contains("client-one") && !text.contains("SECRET-refresh"), "{text}");
}

#[tokio::test]
async fn a_client_that_was_given_is_for_one_authorization_server() {
    let mut world = World::new(Person::default()).await;
    let client = GivenClient {
        client_id: "given".to_owned(),
        client_secret: Some(SecretText::new("SECRET-given")),
        issuer: None,
    };
    world.settings.client = Some(client);
    world.place.script().clients.insert(("one".to_owned(), "given".to_owned()));
    world.connect().await;
    world.revoke();
    world.place.script().issuer = "two";
    let (issuer, expected) = (world.place.issuer("two"), world.place.issuer("one"));
    assert_eq!(world.refused().await, AuthorizationError::OtherIssuer { issuer, expected });
    let elsewhere = world.place.script().seen.iter().any(|(what, _)| what.contains("/two/"));
    assert!(!elsewhere && world.person.visits() == 1);
}

#[tokio::test]
async fn whoever_knocks_with_another_state_changes_nothing() {
    let knocks = vec![
        "/favicon.ico",
        "/callback",
        "/callback?code=stolen&state=guessed",
        "/callback?error=access_denied&state=guessed",
        "/callback?code=stolen&state=guessed&state=again",
    ];
    let world = World::new(Person { knocks, ..Person::default() }).await;
    world.connect().await;
    let answers = world.person.answers.lock().unwrap().clone();
    let statuses: Vec<_> = answers.iter().map(|it| it.0).collect();
    // The visit is over when the real one came, so nobody notes that answer.
    assert_eq!(statuses, [404, 400, 400, 400, 400]);
    assert!(answers.iter().all(|(_, page)| !page.contains("stolen") && !page.contains("SECRET")));
    assert_eq!(world.place.seen("POST /one/token").len(), 1);
}

#[tokio::test]
async fn a_token_at_its_end_is_renewed_once_for_all_who_need_it() {
    let world = World::new(Person::default()).await;
    world.place.script().expires_in = 0;
    let connection = world.connect().await;
    world.place.script().expires_in = 3600;
    let (one, two) = tokio::join!(call(&connection), call(&connection));
    one.unwrap();
    two.unwrap();
    let grants = texts(&world.place.seen("POST /one/token"), "grant_type");
    assert_eq!(grants.last().unwrap(), "refresh_token");
    let renewed = grants.len();
    // One that the server does not take before its end is renewed, too.
    world.place.script().tokens.clear();
    call(&connection).await.unwrap();
    assert_eq!(world.place.seen("POST /one/token").len(), renewed + 1);
    assert_eq!(world.person.visits(), 1);
    // What cannot be renewed is signed in for.
    world.revoke();
    call(&connection).await.unwrap();
    assert_eq!(world.person.visits(), 2);
}

#[tokio::test]
async fn whoever_signs_out_can_sign_in_again_where_the_server_still_refused() {
    let world = World::new(Person::default()).await;
    world.place.script().worthless = true;
    let authorization = world.authorization();
    for _ in 0..2 {
        let Err(ConnectError::NotAuthorized(error)) = world.open(&authorization).await.0 else {
            panic!("it was let in");
        };
        assert_eq!(error, AuthorizationError::StillRefused { scopes: Vec::new() });
        assert_eq!(world.person.visits(), 1, "the browser is not opened over and over");
    }
    authorization.sign_out().await.unwrap();
    world.place.script().worthless = false;
    world.open(&authorization).await.0.unwrap();
    assert_eq!(world.person.visits(), 2);
}

#[tokio::test]
async fn where_no_sign_in_is_to_begin_one_that_there_is_is_renewed_and_kept() {
    let mut world = World::new(Person::default()).await;
    world.settings.begins_none = true;
    assert_eq!(world.refused().await, AuthorizationError::Declined);
    assert_eq!(world.place.seen("POST /one/register").len(), 0);
    world.settings.begins_none = false;
    world.connect().await;
    world.place.script().tokens.clear();
    world.settings.begins_none = true;
    // A refresh token is good once. Were the new one lost, the person would have to sign in again.
    world.connect().await;
    world.place.script().tokens.clear();
    world.settings.begins_none = false;
    world.connect().await;
    assert_eq!(world.person.visits(), 1);
}

#[tokio::test]
async fn a_server_that_wants_more_gets_it_beside_what_it_had() {
    let mut world = World::new(Person::default()).await;
    world.settings.scopes = vec!["read".to_owned()];
    world.place.script().needed = "write";
    let connection = world.connect().await;
    call(&connection).await.unwrap();
    assert_eq!(texts(&world.place.seen("GET /one/authorize"), "scope"), ["read", "read write"]);
    let visits = world.person.visits.lock().unwrap().clone();
    assert_eq!(visits.iter().map(|it| it.step_up).collect::<Vec<_>>(), [false, true]);
    // What the person does not grant is not asked for without end.
    world.place.script().needed = "admin";
    world.place.script().grants = Some("read");
    let error = call(&connection).await.unwrap_err();
    let scopes = vec!["admin".to_owned()];
    assert_eq!(error, CallError::NotAuthorized(AuthorizationError::StillRefused { scopes }));
    assert_eq!(world.person.visits(), 4);
}

#[tokio::test]
async fn a_person_may_decline_and_a_browser_may_be_missing() {
    let world = World::new(Person::default()).await;
    world.person.declines.store(true, Ordering::Relaxed);
    assert_eq!(world.refused().await, AuthorizationError::Declined);
    assert_eq!(world.place.seen("GET /one/authorize"), Vec::<Value>::new());
    world.person.declines.store(false, Ordering::Relaxed);
    world.person.has_no_browser.store(true, Ordering::Relaxed);
    assert_eq!(world.refused().await, AuthorizationError::NotOpened { why: "there is none".to_owned() });
    world.person.has_no_browser.store(false, Ordering::Relaxed);
    // Whether the registration of a sign-in that was left is good is not known, so it is not used again.
    world.connect().await;
    assert_eq!(world.place.seen("POST /one/register").len(), 3);
}

#[tokio::test]
async fn a_person_who_does_nothing_is_not_waited_for_without_end() {
    let mut world = World::new(Person::default()).await;
    world.settings.patience = Duration::from_millis(1);
    *world.person.patient.lock().unwrap() = Some((world.place.refusals.subscribe(), u32::MAX));
    assert_eq!(world.refused().await, AuthorizationError::TimedOut { minutes: 0 });
}

#[tokio::test]
async fn nothing_secret_is_shown() {
    let world = World::new(Person::default()).await;
    let authorization = world.authorization();
    let (connection, mut told) = world.open(&authorization).await;
    let connection = connection.unwrap();
    world.place.script().parrot = true;
    let repeated = call(&connection).await.unwrap_err();
    world.place.script().parrot = false;
    assert!(repeated.to_string().contains("[secret]"), "{repeated}");
    world.place.script().tokens.clear();
    world.place.script().amnesia = true;
    let forgotten = call(&connection).await.unwrap_err();
    let mut shown = format!(
        "{authorization:?} {:?} {repeated:?} {forgotten:?} {forgotten} {:?}",
        world.drawer.0.lock().unwrap().keys().collect::<Vec<_>>(),
        authorization.0.held().current.as_ref().map(|it| it.tokens.clone()),
    );
    connection.close().await;
    drop(connection);
    while let Some(event) = told.try_next() {
        shown = format!("{shown} {event:?}");
    }
    assert!(shown.contains("Signed in at"), "{shown}");
    assert!(!shown.contains("SECRET"), "{shown}");
}

#[test]
fn secrets_do_not_go_where_they_can_be_read() {
    let (clear, sealed) =
        (Url::parse("http://10.0.0.1/mcp").unwrap(), Url::parse("https://mcp.example/").unwrap());
    assert!(checked("token", "https://as.example/token", &sealed).is_ok());
    assert!(checked("token", "http://10.0.0.1/token", &clear).is_ok());
    for url in ["http://as.example/token", "javascript:alert(1)", "file:///etc/passwd", "not one"] {
        assert!(checked("token", url, &sealed).is_err(), "{url}");
    }
    assert!(checked("token", "javascript:alert(1)", &clear).is_err());
}

#[test]
fn a_redirect_is_read_in_one_way_or_not_at_all() {
    use super::redirect::Redirected;
    let read = |query: &str| {
        let url = Url::parse(&format!("http://127.0.0.1:1/callback?{query}")).unwrap();
        Redirected::read(&url, "s").is_some()
    };
    assert!(read("code=c&state=s"));
    assert!(read("error=access_denied&state=s&iss=https://as.example"));
    for query in
        ["code=c", "code=c&state=t", "state=s", "code=c&code=d&state=s", "code=c&state=s&iss=a&iss=b"]
    {
        assert!(!read(query), "{query}");
    }
}
