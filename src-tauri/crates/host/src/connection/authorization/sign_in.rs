//! The steps of one sign-in, and of renewing what it brought.

use std::sync::Arc;

use rmcp::transport::auth::{
    AuthError, AuthorizationManager, AuthorizationMetadata, CredentialStore as _, InMemoryCredentialStore,
    OAuthClientConfig, OAuthTokenResponse, StoredCredentials,
};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::{
    AuthorizationError, Current, Demand, GivenClient, Inner, Origin, Redirect, SecretText, Visit, Visited,
    error::cut,
    kept::{Registration, Tokens},
    now,
    redirect::{RedirectAnswer, Redirected, WayBack},
};
use crate::connection::event::EventSender;

/// An authorization server that was found, and rmcp set up for it.
pub(super) struct Prepared {
    manager: AuthorizationManager,
    /// What rmcp is given to renew, and where it puts what it got.
    store: InMemoryCredentialStore,
    metadata: AuthorizationMetadata,
    /// What credentials are kept under.
    issuer: String,
    guessed: bool,
    /// The secret of the client that rmcp was set up for.
    secret: Option<SecretText>,
}

impl Prepared {
    /// Finds the authorization server, and refuses one that must not be used.
    async fn discover(inner: &Inner, challenge: Option<&str>) -> Result<Self, AuthorizationError> {
        let unknown = |error| AuthorizationError::of(error, "the authorization server");
        let mut manager = if inner.settings.private_network {
            AuthorizationManager::new_allowing_private_addresses(inner.server.clone()).await
        } else {
            AuthorizationManager::new(inner.server.clone()).await
        }
        .map_err(unknown)?;
        let found = manager.resolve_metadata_from_challenge(challenge).await.map_err(unknown)?;
        let (metadata, guessed) = (found.metadata, !found.source.is_discovered());
        let address = |endpoint, url: &str| checked(endpoint, url, &inner.server);
        let authorize = address("authorization", &metadata.authorization_endpoint)?;
        address("token", &metadata.token_endpoint)?;
        if let Some(url) = &metadata.registration_endpoint {
            address("registration", url)?;
        }
        let issuer = metadata.issuer.clone().unwrap_or_else(|| authorize.origin().ascii_serialization());
        let methods = metadata.code_challenge_methods_supported.as_deref().unwrap_or_default();
        // Where nothing is published there is nothing to check; 2025-03-26 has such servers use PKCE all the same.
        if !guessed && !methods.iter().any(|it| it == "S256") {
            return Err(AuthorizationError::NoPkce { issuer });
        }
        let store = InMemoryCredentialStore::new();
        manager.set_credential_store(store.clone());
        manager.set_metadata(metadata.clone());
        Ok(Self { manager, store, metadata, issuer, guessed, secret: None })
    }

    fn advertises(&self, flag: &str) -> bool {
        self.metadata.additional_fields.get(flag).is_some_and(|it| it == true)
    }

    fn failed(&self, error: AuthError) -> AuthorizationError {
        AuthorizationError::of(error, &self.issuer)
    }

    fn refused(&self, code: &str, said: &str) -> AuthorizationError {
        AuthorizationError::Refused { issuer: self.issuer.clone(), code: cut(code), said: cut(said) }
    }

    fn use_client(
        &mut self,
        client_id: &str,
        secret: Option<&SecretText>,
        redirect_uri: &str,
    ) -> Result<(), AuthorizationError> {
        let mut config = OAuthClientConfig::new(client_id, redirect_uri);
        if let Some(secret) = secret {
            config = config.with_client_secret(secret.reveal());
        }
        self.secret = secret.cloned();
        self.manager.configure_client(config).map_err(|error| self.failed(error))
    }

    async fn exchange(
        &self,
        code: &str,
        state: &str,
        issuer: Option<&str>,
    ) -> Result<OAuthTokenResponse, AuthorizationError> {
        let secret = self.secret.as_ref().map(SecretText::reveal);
        let answer = self.manager.exchange_code_for_token_with_issuer(code, state, issuer).await;
        answer.map_err(|error| self.failed(error).without(secret.into_iter().chain([code])))
    }

    /// Whether a redirect came from whom it should (RFC 9207, section 2.4). Errors are checked, too.
    fn check_issuer(&self, redirected: &Redirected) -> Result<(), AuthorizationError> {
        let expected = &self.issuer;
        let wrong = |received: Option<&String>| {
            Err(AuthorizationError::WrongIssuer {
                expected: expected.clone(),
                received: received.map(|it| cut(it)),
            })
        };
        match &redirected.issuer {
            Some(received) if Some(received) == self.metadata.issuer.as_ref() => Ok(()),
            Some(received) => wrong(Some(received)),
            None if self.advertises("authorization_response_iss_parameter_supported") => wrong(None),
            None => Ok(()),
        }
    }
}

/// An address that secrets are sent to. What goes to a server in the clear is no safer at its authorization server.
pub(super) fn checked(endpoint: &'static str, url: &str, server: &Url) -> Result<Url, AuthorizationError> {
    let unsafe_one = || AuthorizationError::UnsafeEndpoint { endpoint, url: cut(url) };
    let parsed = Url::parse(url).map_err(|_| unsafe_one())?;
    let safe = parsed.scheme() == "https" || (parsed.scheme() == "http" && server.scheme() == "http");
    if safe { Ok(parsed) } else { Err(unsafe_one()) }
}

/// Gets the host what it needs to be let in.
pub(super) async fn sign_in(
    inner: Arc<Inner>,
    demand: Demand,
    events: EventSender,
) -> Result<(), AuthorizationError> {
    inner.load().await;
    if let Some(Err(why)) = inner.loaded.get() {
        events.defect(format!("What is kept of earlier sign-ins could not be read: {why}."));
    }
    let (current, untested) = {
        let held = inner.held();
        (held.current.clone(), held.untested)
    };
    match &demand.step_up {
        Some(scopes) => {
            let has = |scope| current.as_ref().is_some_and(|it| it.tokens.granted.contains(scope));
            if !scopes.is_empty() && scopes.iter().all(has) {
                return Err(AuthorizationError::StillRefused { scopes: scopes.clone() });
            }
            events.sign_in(format!("The server wants more than was granted: {}.", cut(&scopes.join(" "))));
        }
        None if untested == Some(Origin::SignIn) => {
            return Err(AuthorizationError::StillRefused { scopes: Vec::new() });
        }
        None => events.sign_in("The server wants to know who asks.".to_owned()),
    }
    let mut prepared = Prepared::discover(&inner, demand.challenge.as_deref()).await?;
    events.sign_in(format!("People sign in for it at {}.", prepared.issuer));
    let same = current.as_ref().filter(|it| it.issuer == prepared.issuer);
    if let Some(current) = &current
        && same.is_none()
    {
        events.sign_in(format!(
            "Before, it was {}; what that one handed out is not used here.",
            current.issuer
        ));
    }
    let renewable = same.is_some_and(|it| it.tokens.refresh_token.is_some());
    if demand.step_up.is_none() && renewable && untested.is_none() && inner.renewed().await? {
        events.sign_in("The sign-in was renewed.".to_owned());
        return Ok(());
    }
    if inner.settings.begins_none {
        return Err(AuthorizationError::Declined);
    }
    let mut scopes = match same {
        Some(current) => current.tokens.asked.clone(),
        None => {
            inner.kept.tokens(&prepared.issuer).await.ok().flatten().map(|it| it.asked).unwrap_or_default()
        }
    };
    let default: Vec<&str> = inner.settings.scopes.iter().map(String::as_str).collect();
    for scope in prepared.manager.select_initial_scopes(&default).await {
        if !scopes.contains(&scope) {
            scopes.push(scope);
        }
    }
    let attempt =
        Attempt { inner: &inner, events: &events, scopes: &scopes, step_up: demand.step_up.is_some() };
    let current = match attempt.run(&mut prepared, false).await {
        Err((error, true)) if error.is_of_unknown_client() => {
            let text = format!("{} does not know Usher any more; registering anew.", prepared.issuer);
            events.sign_in(text);
            attempt.run(&mut prepared, true).await
        }
        outcome => outcome,
    }
    .map_err(|(error, _)| error)?;
    events.sign_in(format!("Signed in at {}.", prepared.issuer));
    attempt.warn(inner.kept.keep_tokens(&current.issuer, Some(&current.tokens)).await);
    *inner.prepared.lock().await = Some(prepared);
    inner.install(current, Origin::SignIn);
    Ok(())
}

/// Who the host is at the authorization server.
enum Chosen {
    Given(GivenClient),
    Document(String),
    Kept(Registration),
    New,
}

struct Attempt<'a> {
    inner: &'a Inner,
    events: &'a EventSender,
    scopes: &'a [String],
    step_up: bool,
}

impl Attempt<'_> {
    /// One visit of the browser, and what it leads to. An error comes with whether a registration of an earlier day was used.
    async fn run(&self, prepared: &mut Prepared, anew: bool) -> Result<Current, (AuthorizationError, bool)> {
        let chosen = self.choose(prepared, anew).await.map_err(|error| (error, false))?;
        let (way_back, redirect_uri, chosen) = self.way_back(chosen).await.map_err(|error| (error, false))?;
        let was_kept = matches!(chosen, Chosen::Kept(_));
        self.run_as(prepared, chosen, way_back.as_ref(), &redirect_uri)
            .await
            .map_err(|error| (error, was_kept))
    }

    async fn run_as(
        &self,
        prepared: &mut Prepared,
        chosen: Chosen,
        way_back: Option<&WayBack>,
        redirect_uri: &str,
    ) -> Result<Current, AuthorizationError> {
        let mut registration = None;
        let client_id = match chosen {
            Chosen::Given(given) => {
                prepared.use_client(&given.client_id, given.client_secret.as_ref(), redirect_uri)?;
                given.client_id
            }
            Chosen::Document(url) => {
                prepared.use_client(&url, None, redirect_uri)?;
                url
            }
            Chosen::Kept(kept) => {
                prepared.use_client(&kept.client_id, kept.client_secret.as_ref(), redirect_uri)?;
                registration.insert(kept).client_id.clone()
            }
            Chosen::New => {
                registration.insert(self.register(prepared, redirect_uri).await?).client_id.clone()
            }
        };
        // Before the browser goes away, and again after it came back, so that nothing that happens in between is missed.
        if let Some(registration) = &mut registration {
            registration.in_doubt = true;
            self.warn(self.inner.kept.keep_registration(&prepared.issuer, Some(registration)).await);
        }
        let (state, redirected) = self.visit(prepared, way_back, redirect_uri).await?;
        let answer = match redirected.answer {
            RedirectAnswer::Error { code, said } => Err(prepared.refused(&code, &said)),
            RedirectAnswer::Code(code) => {
                prepared.exchange(&code, &state, redirected.issuer.as_deref()).await
            }
        };
        let unknown = matches!(&answer, Err(error) if error.is_of_unknown_client());
        if let Some(mut registration) = registration {
            registration.in_doubt = false;
            let kept = Some(&registration).filter(|_| !unknown);
            self.warn(self.inner.kept.keep_registration(&prepared.issuer, kept).await);
        }
        let tokens = tokens(&answer?, client_id, self.scopes, None)
            .ok_or_else(|| prepared.failed(AuthError::AuthorizationRequired))?;
        Ok(Current { issuer: prepared.issuer.clone(), tokens })
    }

    async fn choose(&self, prepared: &Prepared, anew: bool) -> Result<Chosen, AuthorizationError> {
        let settings = &self.inner.settings;
        if let Some(given) = &settings.client {
            let other = |expected: &str| AuthorizationError::OtherIssuer {
                issuer: prepared.issuer.clone(),
                expected: expected.to_owned(),
            };
            if let Some(expected) = given.issuer.as_deref().filter(|it| *it != prepared.issuer) {
                return Err(other(expected));
            }
            let current = self.inner.held().current.clone();
            if let Some(current) = current
                && given.issuer.is_none()
                && current.tokens.client_id == given.client_id
                && current.issuer != prepared.issuer
            {
                return Err(other(&current.issuer));
            }
            return Ok(Chosen::Given(given.clone()));
        }
        if let Some(url) = &settings.client_metadata_url
            && prepared.advertises("client_id_metadata_document_supported")
        {
            return Ok(Chosen::Document(url.clone()));
        }
        if !anew
            && let Ok(Some(kept)) = self.inner.kept.registration(&prepared.issuer).await
            && !kept.in_doubt
        {
            return Ok(Chosen::Kept(kept));
        }
        Ok(Chosen::New)
    }

    /// Opens the port that the browser comes back to. An earlier registration is for the port that it named.
    async fn way_back(
        &self,
        chosen: Chosen,
    ) -> Result<(Option<WayBack>, String, Chosen), AuthorizationError> {
        let open = async |port| {
            WayBack::open(port)
                .await
                .map_err(|error| AuthorizationError::NoWayBack { why: error.to_string() })
        };
        let (way_back, uri) = match &self.inner.settings.redirect {
            Redirect::Elsewhere(uri) => (None, uri.clone()),
            Redirect::Port(port) => {
                let way_back = open(Some(*port)).await?;
                let uri = way_back.uri();
                (Some(way_back), uri)
            }
            Redirect::AnyPort => {
                let before = match &chosen {
                    Chosen::Kept(kept) => WayBack::port_of(&kept.redirect_uri),
                    Chosen::Given(_) | Chosen::Document(_) | Chosen::New => None,
                };
                let again = match before {
                    Some(port) => open(Some(port)).await.ok(),
                    None => None,
                };
                let way_back = match again {
                    Some(way_back) => way_back,
                    None => open(None).await?,
                };
                let uri = way_back.uri();
                (Some(way_back), uri)
            }
        };
        let chosen = match chosen {
            Chosen::Kept(kept) if kept.redirect_uri != uri => Chosen::New,
            chosen => chosen,
        };
        Ok((way_back, uri, chosen))
    }

    async fn register(
        &self,
        prepared: &mut Prepared,
        redirect_uri: &str,
    ) -> Result<Registration, AuthorizationError> {
        if prepared.metadata.registration_endpoint.is_none() {
            let why = "it takes no registrations from programs".to_owned();
            return Err(AuthorizationError::NotRegistered { issuer: prepared.issuer.clone(), why });
        }
        let scopes: Vec<&str> = self.scopes.iter().map(String::as_str).collect();
        let name = &self.inner.settings.client_name;
        let config = prepared.manager.register_client(name, redirect_uri, &scopes).await;
        let config = config.map_err(|error| prepared.failed(error))?;
        self.events.sign_in(format!("Registered there as {:?}.", cut(&config.client_id)));
        prepared.secret = config.client_secret.map(SecretText::new);
        Ok(Registration {
            client_id: config.client_id,
            client_secret: prepared.secret.clone(),
            redirect_uri: redirect_uri.to_owned(),
            in_doubt: true,
        })
    }

    /// Sends the person to the authorization server. Gives the state of the visit, and what the browser brought back.
    async fn visit(
        &self,
        prepared: &Prepared,
        way_back: Option<&WayBack>,
        redirect_uri: &str,
    ) -> Result<(String, Redirected), AuthorizationError> {
        let scopes: Vec<&str> = self.scopes.iter().map(String::as_str).collect();
        let url = prepared.manager.get_authorization_url(&scopes).await;
        let url = url.map_err(|error| prepared.failed(error))?;
        let parsed = checked("authorization", &url, &self.inner.server)?;
        let bad = |why: &str| AuthorizationError::BadAnswer {
            issuer: prepared.issuer.clone(),
            why: why.to_owned(),
        };
        let mut states =
            parsed.query_pairs().filter(|(name, _)| name == "state").map(|(_, value)| value.into_owned());
        // An endpoint whose own address has a state would have the answer read in two ways.
        let (Some(state), None) = (states.next(), states.next()) else {
            return Err(bad("its address has a state of its own"));
        };
        let visit = Visit {
            server: self.inner.server.to_string(),
            issuer: prepared.issuer.clone(),
            url,
            scopes: self.scopes.to_vec(),
            guessed: prepared.guessed,
            step_up: self.step_up,
        };
        let patience = self.inner.settings.patience;
        let redirected =
            tokio::time::timeout(patience, self.redirected(&visit, &state, way_back, redirect_uri))
                .await
                .map_err(|_| AuthorizationError::TimedOut { minutes: patience.as_secs() / 60 })??
                .ok_or_else(|| bad("the address that the browser was sent to is not of this sign-in"))?;
        prepared.check_issuer(&redirected)?;
        Ok((state, redirected))
    }

    async fn redirected(
        &self,
        visit: &Visit,
        state: &str,
        way_back: Option<&WayBack>,
        redirect_uri: &str,
    ) -> Result<Option<Redirected>, AuthorizationError> {
        let browser = &self.inner.browser;
        if !browser.may_open(visit).await {
            return Err(AuthorizationError::Declined);
        }
        self.events.sign_in("The browser was opened, and has not come back yet.".to_owned());
        let came = async {
            match way_back {
                Some(way_back) => way_back.redirected(state).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(came);
        // Some openers return only when the page is closed.
        let visited = tokio::select! {
            redirected = &mut came => return Ok(Some(redirected)),
            visited = browser.open_browser(&visit.url) => visited,
        };
        match visited.map_err(|why| AuthorizationError::NotOpened { why })? {
            Visited::RedirectedTo(text) => Ok(read_redirect(&text, redirect_uri, state)),
            Visited::Outside if way_back.is_none() => {
                Err(AuthorizationError::NoWayBack { why: "the browser comes back elsewhere".to_owned() })
            }
            Visited::Outside => Ok(Some(came.await)),
        }
    }

    fn warn(&self, kept: Result<(), String>) {
        if let Err(why) = kept {
            self.events
                .defect(format!("The sign-in could not be kept ({why}); it will be asked for again later."));
        }
    }
}

/// Reads an address that somebody says the browser was sent to.
fn read_redirect(text: &str, redirect_uri: &str, state: &str) -> Option<Redirected> {
    let (url, expected) = (Url::parse(text.trim()).ok()?, Url::parse(redirect_uri).ok()?);
    let same = url.origin() == expected.origin() && url.path() == expected.path();
    if same { Redirected::read(&url, state) } else { None }
}

/// Renews what was handed out. Tells whether there is something new; if not, the person has to sign in.
///
/// It goes on when nobody waits any more: an answer that is lost takes the only good refresh token with it.
pub(super) async fn renewed(inner: Arc<Inner>) -> Result<bool, AuthorizationError> {
    tokio::spawn(renew(inner)).await.unwrap_or(Ok(false))
}

async fn renew(inner: Arc<Inner>) -> Result<bool, AuthorizationError> {
    let Some(current) = inner.held().current.clone() else { return Ok(false) };
    if current.tokens.refresh_token.is_none() {
        return Ok(false);
    }
    // Another process of the host may have renewed it, and then what is held here is worthless.
    if let Ok(Some(tokens)) = inner.kept.tokens(&current.issuer).await
        && tokens.access_token.is_some()
        && tokens.access_token != current.tokens.access_token
    {
        inner.install(Current { issuer: current.issuer, tokens }, Origin::Renewal);
        return Ok(true);
    }
    let Some(secret) = client_secret(&inner, &current).await else { return Ok(false) };
    let mut guard = inner.prepared.lock().await;
    if guard.is_none() {
        *guard = Some(Prepared::discover(&inner, None).await?);
    }
    let Some(prepared) = guard.as_mut() else { return Ok(false) };
    // A refresh token is shown to nobody but its issuer.
    if prepared.issuer != current.issuer {
        return Ok(false);
    }
    let unusable = |prepared: &Prepared| prepared.failed(AuthError::AuthorizationRequired);
    prepared.use_client(&current.tokens.client_id, secret.as_ref(), inner.server.as_str())?;
    let Some(stored) = stored(&current) else { return Ok(false) };
    prepared.store.save(stored).await.map_err(|error| prepared.failed(error))?;
    let error = match prepared.manager.refresh_token().await {
        Ok(answer) => {
            let Tokens { client_id, asked, .. } = &current.tokens;
            let mut tokens = tokens(&answer, client_id.clone(), asked, Some(&current.tokens))
                .ok_or_else(|| unusable(prepared))?;
            tokens.asked.clone_from(asked);
            let _kept = inner.kept.keep_tokens(&current.issuer, Some(&tokens)).await;
            inner.install(Current { issuer: current.issuer, tokens }, Origin::Renewal);
            return Ok(true);
        }
        Err(error) => error,
    };
    let rejected = matches!(error, AuthError::TokenRefreshRejected(_));
    let error = prepared.failed(error);
    let unknown = error.is_of_unknown_client();
    if unknown {
        let _kept = inner.kept.keep_registration(&current.issuer, None).await;
    }
    if !rejected && !unknown {
        let secrets = [&current.tokens.access_token, &current.tokens.refresh_token, &secret];
        return Err(error.without(secrets.into_iter().flatten().map(SecretText::reveal)));
    }
    let tokens = Tokens { access_token: None, refresh_token: None, ..current.tokens };
    let _kept = inner.kept.keep_tokens(&current.issuer, Some(&tokens)).await;
    inner.held().current = Some(Current { issuer: current.issuer, tokens });
    Ok(false)
}

/// The secret of the client that something was handed out to, if it has one. Nothing if that client is not the host any more.
async fn client_secret(inner: &Inner, current: &Current) -> Option<Option<SecretText>> {
    let id = &current.tokens.client_id;
    if let Some(given) = &inner.settings.client {
        return (given.client_id == *id).then(|| given.client_secret.clone());
    }
    if inner.settings.client_metadata_url.as_ref() == Some(id) {
        return Some(None);
    }
    let registration = inner.kept.registration(&current.issuer).await.ok().flatten()?;
    (registration.client_id == *id).then_some(registration.client_secret)
}

/// What rmcp renews from.
fn stored(current: &Current) -> Option<StoredCredentials> {
    let tokens = &current.tokens;
    let mut answer = json!({
        "access_token": tokens.access_token.as_ref()?.reveal(),
        "token_type": "bearer",
        "refresh_token": tokens.refresh_token.as_ref()?.reveal(),
    });
    if let Some(lifetime) = tokens.expires_in {
        answer["expires_in"] = lifetime.into();
    }
    let answer: OAuthTokenResponse = serde_json::from_value(answer).ok()?;
    let granted = tokens.granted.clone();
    Some(StoredCredentials::new(tokens.client_id.clone(), Some(answer), granted, Some(tokens.received_at)))
}

/// What a token endpoint handed out, in the words that it is kept in.
fn tokens(
    answer: &OAuthTokenResponse,
    client_id: String,
    asked: &[String],
    before: Option<&Tokens>,
) -> Option<Tokens> {
    #[derive(Deserialize)]
    struct Wire {
        access_token: SecretText,
        #[serde(default)]
        refresh_token: Option<SecretText>,
        #[serde(default)]
        expires_in: Option<u64>,
        #[serde(default)]
        scope: Option<String>,
    }
    let wire: Wire = serde_json::from_value(serde_json::to_value(answer).ok()?).ok()?;
    let granted = match wire.scope {
        Some(scope) => scope.split_whitespace().map(str::to_owned).collect(),
        // Left out, it is what was asked for (RFC 6749, section 5.1).
        None => before.map_or_else(|| asked.to_vec(), |it| it.granted.clone()),
    };
    Some(Tokens {
        client_id,
        access_token: Some(wire.access_token),
        refresh_token: wire.refresh_token,
        expires_in: wire.expires_in,
        received_at: now(),
        asked: asked.to_vec(),
        granted,
    })
}
