//! What servers ask the person in front of the host: forms to fill in, addresses to visit (2025-11-25 and 2026-07-28
//! client/elicitation), whether they may ask the model, of which `sampling` knows more, and what their Views may have.
//!
//! A question always says which server asks, and every answer is checked before it leaves. An address is opened with the yes
//! to it. Deliberately absent: drawing the form.

mod form;

use std::{collections::BTreeMap, sync::Arc};

use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use usher_engine::validation::{Compiled, Verdict};
use usher_protocol::RawJson;

pub use self::form::{Choice, Field, FieldKind};
use super::{Host, HostError, HostEvent, SampleAnswer, SampleRequest, lock};
use crate::{
    app_view::access::Wish,
    connection::{Answer, Ask, Elicited, Offers, Question},
};

/// How many questions may be on their way to here; how many a server may have open at once is the connection's to limit.
const MAX_ON_THE_WAY: usize = 4;

/// A question that waits for the person.
#[derive(Debug, Clone, PartialEq)]
pub struct QuestionRecord {
    /// Its id.
    pub id: String,
    /// The server that asks.
    pub server_id: String,
    /// Its name.
    pub server_name: String,
    /// What is asked.
    pub asked: Asked,
}

/// What is asked.
#[derive(Debug, Clone, PartialEq)]
pub enum Asked {
    /// A form.
    Form {
        /// Why, in the server's words.
        message: String,
        /// What is to be filled in, in the server's order.
        fields: Vec<Field>,
    },
    /// An address to visit.
    Url {
        /// Why, in the server's words.
        message: String,
        /// The whole address.
        url: String,
        /// Its host alone, in ASCII, so that look-alikes show.
        host: String,
    },
    /// Whether a server may ask the model.
    Sample(Box<SampleRequest>),
    /// Whether it may have what the model wrote.
    SampleAnswer(Box<SampleAnswer>),
    /// Whether the server's Views may have something beyond their own pages.
    ViewAccess {
        /// Every domain and every feature, in full.
        wishes: Vec<Wish>,
    },
    /// Whether words of a View may reach the model.
    ViewWords {
        /// The View.
        view: ViewAsker,
        /// Whether they are said in the person's name; otherwise the View keeps them before the model, and may replace them.
        is_message: bool,
        /// Exactly what would reach the model.
        text: String,
        /// The pictures that would reach it after the text.
        pictures: Option<ViewPictures>,
        /// What the View said beside it and the model would not get, for people.
        left_out: Option<String>,
    },
    /// Whether an address of a View may be opened outside.
    ViewLink {
        /// The View.
        view: ViewAsker,
        /// The whole address.
        url: String,
        /// Its host alone, in ASCII.
        host: String,
    },
    /// Whether files of a View may be saved.
    ViewFiles {
        /// The View.
        view: ViewAsker,
        /// Each file.
        files: Vec<ViewFile>,
        /// Where they would go.
        folder: String,
    },
}

impl Asked {
    /// The View that asks, if it is one.
    fn view_id(&self) -> Option<&str> {
        match self {
            Self::ViewWords { view, .. } | Self::ViewLink { view, .. } | Self::ViewFiles { view, .. } => {
                Some(&view.view_id)
            }
            Self::Sample(request) => request.by_view.as_deref(),
            Self::SampleAnswer(answer) => answer.by_view.as_deref(),
            Self::Form { .. } | Self::Url { .. } | Self::ViewAccess { .. } => None,
        }
    }
}

/// Pictures that a View would show to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewPictures {
    /// Opens them while the question waits, and after a yes.
    pub handle: String,
    /// They themselves, as blocks of content.
    pub blocks: RawJson,
    /// What each is, in their order.
    pub pictures: Vec<ViewPicture>,
}

/// What a picture of a View is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewPicture {
    /// Its type, which its bytes have.
    pub mime: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Pixels across.
    pub width: u32,
    /// Pixels down.
    pub height: u32,
}

/// A file that a View would have saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewFile {
    /// The name that it would get, unless it is taken in the folder. No other file of the question has it.
    pub name: String,
    /// Where its bytes are.
    pub body: ViewFileBody,
}

/// Where the bytes of a file are that a View would have saved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ViewFileBody {
    /// The View sent so many.
    Sent(u64),
    /// They are read from the View's server after a yes, at this address.
    AtServer(String),
}

/// The View that asks; the server is the question's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewAsker {
    /// The View.
    pub view_id: String,
    /// The tool that it shows.
    pub tool: String,
}

/// What the person answers.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionAnswer {
    /// Agrees; with what was filled in, an object as JSON.
    Accept(Option<String>),
    /// Agrees to this message of a View and to its later ones, for as long as it is open.
    AcceptForView,
    /// Says no.
    Decline,
    /// Goes away.
    Cancel,
    /// Says no and ends the View that asks.
    StopView,
}

/// The questions that wait.
#[derive(Default)]
pub(super) struct Questions(BTreeMap<String, Waiting>);

impl Questions {
    /// The pictures that a handle opens, while they are asked about.
    pub(super) fn value(&self, handle: &str) -> Option<RawJson> {
        let blocks = |it: &Waiting| {
            let Asked::ViewWords { pictures: Some(pictures), .. } = &it.record.asked else { return None };
            (pictures.handle == handle).then(|| pictures.blocks.clone())
        };
        self.0.values().find_map(blocks)
    }
}

struct Waiting {
    record: QuestionRecord,
    /// What a form's answer must fit.
    schema: Option<RawJson>,
    answer: oneshot::Sender<Elicited>,
}

/// The server that asks.
#[derive(Debug, Clone)]
pub(super) struct Asker {
    pub(super) id: String,
    pub(super) name: String,
}

impl Host {
    /// What a server may ask here, with a way to the person.
    pub(super) fn offers_to(&self, server_id: &str, server_name: &str) -> Offers {
        let (questions, asked) = mpsc::channel(MAX_ON_THE_WAY);
        let asker = Asker { id: server_id.to_owned(), name: server_name.to_owned() };
        let host = Arc::downgrade(&self.0);
        tokio::spawn(async move {
            let mut asked = asked;
            while let Some(question) = asked.recv().await {
                let Some(host) = host.upgrade().map(Host) else { return };
                tokio::spawn(host.ask(asker.clone(), question));
            }
        });
        let offers = self.offers_by_trust(server_id, self.0.options.connection.offers.clone());
        Offers { questions: Some(questions), ..offers }
    }

    /// Answers a question, mostly by asking the person.
    async fn ask(self, asker: Asker, mut question: Question) {
        let answer = match question.ask.clone() {
            Ask::Sample { params } => self.sample(&asker, &params, &mut question).await,
            Ask::Roots => Answer::Roots(self.roots_for(&asker.id)),
            ask @ (Ask::Form { .. } | Ask::Url { .. }) => self.elicit(&asker, &ask, &mut question).await,
        };
        question.answer(answer);
    }

    async fn elicit(&self, asker: &Asker, ask: &Ask, question: &mut Question) -> Answer {
        let asked = match read(ask) {
            Ok(asked) => asked,
            Err(why) => {
                let text = format!("A question could not be shown ({why}); declined.");
                self.remark(&asker.id, "elicitation", text);
                return Answer::Elicited(Elicited::Decline);
            }
        };
        let schema = match ask {
            Ask::Form { schema, .. } => Some(schema.clone()),
            Ask::Url { .. } | Ask::Sample { .. } | Ask::Roots => None,
        };
        Answer::Elicited(self.pose(asker, asked, schema, question, &CancellationToken::new()).await)
    }

    /// Shows a question, and waits for the person, or for the server to take it back, or for what it belongs to to end.
    pub(super) async fn pose(
        &self,
        asker: &Asker,
        asked: Asked,
        schema: Option<RawJson>,
        question: &mut Question,
        ended: &CancellationToken,
    ) -> Elicited {
        let (answer, answered) = oneshot::channel();
        let record = QuestionRecord {
            id: self.new_id(),
            server_id: asker.id.clone(),
            server_name: asker.name.clone(),
            asked,
        };
        let id = record.id.clone();
        lock(&self.0.questions).0.insert(id.clone(), Waiting { record: record.clone(), schema, answer });
        self.tell(HostEvent::Question(Box::new(record)));
        let elicited = tokio::select! {
            answer = answered => answer.unwrap_or(Elicited::Cancel),
            () = question.withdrawn() => Elicited::Cancel,
            () = ended.cancelled() => Elicited::Cancel,
        };
        lock(&self.0.questions).0.remove(&id);
        self.tell(HostEvent::QuestionGone(id));
        elicited
    }

    /// Asks whether the person may be sent to an address, which the host then opens. Dropping the future withdraws the question.
    pub(super) async fn may_visit(
        &self,
        server_id: &str,
        server_name: &str,
        message: String,
        url: &str,
    ) -> bool {
        let Ok(asked) = read(&Ask::Url { message, url: url.to_owned(), id: None }) else { return false };
        let asker = Asker { id: server_id.to_owned(), name: server_name.to_owned() };
        matches!(self.ask_person(&asker, asked).await, Elicited::Accept { .. })
    }

    /// Asks something for the host itself. Dropping the future withdraws the question.
    pub(super) async fn ask_person(&self, asker: &Asker, asked: Asked) -> Elicited {
        let (answer, answered) = oneshot::channel();
        let (server_id, server_name) = (asker.id.clone(), asker.name.clone());
        let record = QuestionRecord { id: self.new_id(), server_id, server_name, asked };
        let asking = Asking { host: self.clone(), id: record.id.clone() };
        let waiting = Waiting { record: record.clone(), schema: None, answer };
        lock(&self.0.questions).0.insert(record.id.clone(), waiting);
        self.tell(HostEvent::Question(Box::new(record)));
        let answer = answered.await;
        drop(asking);
        answer.unwrap_or(Elicited::Cancel)
    }

    /// The questions that wait, oldest first.
    pub fn questions(&self) -> Vec<QuestionRecord> {
        lock(&self.0.questions).0.values().map(|it| it.record.clone()).collect()
    }

    /// Answers a question.
    ///
    /// # Errors
    /// The question is gone, or what was filled in does not fit what the server wants; nothing is sent then.
    pub fn answer_question(&self, id: &str, answer: QuestionAnswer) -> Result<(), HostError> {
        let (asked, schema) = {
            let questions = lock(&self.0.questions);
            let waiting = questions.0.get(id).ok_or_else(|| HostError::unknown("question"))?;
            (waiting.record.asked.clone(), waiting.schema.clone())
        };
        // A program that starts and a schema that somebody else wrote take their time, and no other question may wait for them.
        if let (Asked::Url { url, .. } | Asked::ViewLink { url, .. }, QuestionAnswer::Accept(_)) =
            (&asked, &answer)
        {
            // The yes to an address opens it, so that no caller can say yes without.
            (self.surroundings().open)(url).map_err(|why| {
                HostError::new(
                    format!("The address could not be opened: {why}."),
                    "The question still waits.",
                    "Copy the address into your browser, or decline.",
                )
            })?;
        }
        let elicited = match answer {
            QuestionAnswer::AcceptForView => {
                let Asked::ViewWords { view, is_message: true, .. } = &asked else {
                    let todo = "Allow it once, or decline.";
                    return Err(HostError::new("This is asked about each time.", "Nothing was sent.", todo));
                };
                self.allow_messages_of(&view.view_id);
                Elicited::Accept { content: None }
            }
            QuestionAnswer::StopView => {
                let view_id = asked.view_id().ok_or_else(|| {
                    HostError::new("No View asks this.", "Nothing was sent.", "Decline instead.")
                })?;
                self.stop_asking_view(view_id);
                Elicited::Cancel
            }
            QuestionAnswer::Decline => Elicited::Decline,
            QuestionAnswer::Cancel => Elicited::Cancel,
            QuestionAnswer::Accept(content) => {
                Elicited::Accept { content: filled(schema.as_ref(), content)? }
            }
        };
        let waiting = lock(&self.0.questions).0.remove(id);
        if let Some(waiting) = waiting {
            // A server that took its question back in this moment is told nothing.
            let _gone = waiting.answer.send(elicited);
        }
        Ok(())
    }
}

/// A question of the host's own, taken back when nobody waits for its answer any more.
struct Asking {
    host: Host,
    id: String,
}

impl Drop for Asking {
    fn drop(&mut self) {
        lock(&self.host.0.questions).0.remove(&self.id);
        self.host.tell(HostEvent::QuestionGone(std::mem::take(&mut self.id)));
    }
}

/// Checks what was filled in.
fn filled(schema: Option<&RawJson>, content: Option<String>) -> Result<Option<serde_json::Value>, HostError> {
    let Some(schema) = schema else { return Ok(None) };
    let content = RawJson::parse(content.unwrap_or_else(|| "{}".to_owned()))
        .ok()
        .filter(RawJson::is_object)
        .ok_or_else(|| {
            HostError::new("What was filled in is no object.", "Nothing was sent.", "Try again.")
        })?;
    match Compiled::new(schema).check(&content) {
        // A schema that cannot be checked does not hold the person up; the server checks again.
        Verdict::Fits | Verdict::NotChecked(_) => Ok(Some(content.to_value())),
        verdict @ Verdict::Violates { .. } => Err(HostError::new(
            format!("What was filled in {}.", verdict.line()),
            "Nothing was sent.",
            "Correct it, or decline.",
        )),
    }
}

fn read(ask: &Ask) -> Result<Asked, String> {
    match ask {
        Ask::Form { message, schema } => {
            Ok(Asked::Form { message: message.clone(), fields: form::read(schema)? })
        }
        Ask::Url { message, url, .. } => {
            let parsed = url::Url::parse(url).map_err(|error| format!("its address is none: {error}"))?;
            if !matches!(parsed.scheme(), "https" | "http") {
                return Err(format!("its address is no web address ({})", parsed.scheme()));
            }
            let host = parsed.host_str().unwrap_or_default().to_owned();
            Ok(Asked::Url { message: message.clone(), url: parsed.into(), host })
        }
        Ask::Sample { .. } | Ask::Roots => Err("it is of another kind".to_owned()),
    }
}
