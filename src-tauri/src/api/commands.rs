//! The commands that the window may send, declared once: the Rust router and the TypeScript types both come from this list.

use serde::Deserialize;
#[cfg(test)]
use ts_rs::TS;

use super::types::{
    ApprovalChoice, BenchForm, BenchNews, BenchStart, BenchTool, BenchVerdictView, CheckPlan, CheckReport,
    CheckTool, CheckView, CompletionView, ConfigurationSource, ConversationSummary, ConversationView,
    CustomChoice, EvidenceView, ExchangeBody, ExportedServers, FetchedView, ImportChoice, ImportReview,
    JsonChildren, KnownConfiguration, LegacyPolicyView, LocalEndpoint, ModeName, ModelView, OwnToolsView,
    PastedView, PayloadText, PromptListView, ProviderTest, QuestionAction, RefusedTarget, ResourceListView,
    SavedFile, SearchHitView, SelectionPreview, ServerForm, ServerTest, ServerTrustView, Settings, SortBy,
    TableWindow, ViewAnswer, ViewAnswers, ViewLaunch, WireLine, WishView,
};

/// Declares the commands. Each line gives the command's name, its parameters and its answer.
macro_rules! commands {
    ($( $(#[$doc:meta])* $name:ident { $($field:ident : $type:ty),* $(,)? } -> $answer:ty; )*) => {
        /// A command of the window with its parameters.
        #[derive(Debug, Deserialize)]
        #[serde(tag = "cmd", content = "payload", rename_all = "snake_case")]
        #[expect(missing_docs, reason = "parameters are named for what they are")]
        #[expect(non_camel_case_types, reason = "a command's name is the same in Rust, on the wire and in TypeScript")]
        pub enum Command {
            $( $(#[$doc])* $name { $($field: $type),* }, )*
        }

        /// What answers the commands. A host that forgets one does not compile.
        #[expect(clippy::too_many_arguments, reason = "the parameters of a command are those of its form in the window")]
        pub trait Commands {
            $( $(#[$doc])* fn $name(&self, $($field: $type),*)
                -> impl Future<Output = Result<$answer, super::ApiError>> + Send; )*
        }

        impl Command {
            /// The names of all commands.
            pub const NAMES: &[&str] = &[$(stringify!($name)),*];

            /// Runs the command and writes its answer as JSON.
            ///
            /// # Errors
            /// What the command says.
            pub async fn run(self, host: &impl Commands) -> Result<String, super::ApiError> {
                match self {
                    $( Self::$name { $($field),* } => super::to_json(&host.$name($($field),*).await?), )*
                }
            }
        }

        /// The TypeScript interface of the commands.
        #[cfg(test)]
        pub(super) fn typescript() -> String {
            let mut text = String::from("export interface Commands {\n");
            $(
                text.push_str(&format!("  {}: {{ payload: {{ ", stringify!($name)));
                $( text.push_str(&format!("{}: {}; ", stringify!($field), <$type as TS>::name(&ts_rs::Config::default()))); )*
                text.push_str(&format!("}}; answer: {} }};\n", <$answer as TS>::name(&ts_rs::Config::default())));
            )*
            text.push_str("}\n");
            text
        }
    };
}

commands! {
    /// Finds what the user was shown as text: titles, messages and answers, and nothing of what tools returned.
    search { query: String } -> Vec<SearchHitView>;
    /// Starts a conversation.
    create_conversation { mode: Option<ModeName>, model_id: Option<String> } -> ConversationSummary;
    /// Opens a conversation with all that it shows.
    open_conversation { conversation_id: String } -> ConversationView;
    /// The user looks at a conversation; what its Views ask is shown before what others ask.
    look_at_conversation { conversation_id: String } -> ();
    /// Gives a conversation a title.
    rename_conversation { conversation_id: String, title: String } -> ();
    /// Deletes a conversation and everything recorded for it.
    delete_conversation { conversation_id: String } -> ();
    /// Changes the mode, the model or the custom choices.
    configure_conversation { conversation_id: String, mode: Option<ModeName>, model_id: Option<String>, custom: Option<Vec<CustomChoice>> } -> ConversationSummary;
    /// Writes a message to disk and starts a turn.
    send_message { conversation_id: String, text: String } -> ();
    /// Stops the turn; what came is kept.
    stop_turn { conversation_id: String } -> ();
    /// Asks the model with what is there: again after a failure, or with what a View said.
    retry_turn { conversation_id: String } -> ();
    /// Answers a call that waits for approval.
    answer_approval { call_id: String, choice: ApprovalChoice } -> ();
    /// Answers what a server asks; `content_json` is what a form holds.
    answer_question { question_id: String, action: QuestionAction, content_json: Option<String> } -> ();
    /// Calls a tool on the user's behalf.
    call_tool { conversation_id: String, server_id: String, tool: String, arguments_json: String } -> ();
    /// Cancels one call.
    cancel_call { call_id: String } -> ();
    /// What each enabled tool would be asked for.
    preview_selection { conversation_id: String } -> Vec<SelectionPreview>;
    /// Shows an output to the model: a user's action, recorded as such (rule H25).
    show_the_model { conversation_id: String, handle: String } -> ();
    /// Takes out of the model's context what the user or a View put there, from the next request on (rule H25).
    take_back { conversation_id: String, item_id: String } -> ();

    /// The prompts of every connected server.
    list_prompts {} -> PromptListView;
    /// What a server suggests for an argument of a prompt while it is typed.
    complete_prompt_argument { server_id: String, prompt: String, argument: String, typed: String, others: Vec<(String, String)> } -> CompletionView;
    /// Fetches a prompt's messages, for the user to read. The model has nothing of them yet.
    use_prompt { server_id: String, prompt: String, arguments: Vec<(String, String)> } -> FetchedView;
    /// Sends a prompt that was fetched and read, and starts a turn (rule H25).
    send_prompt { conversation_id: String, fetched_id: String } -> ();
    /// Forgets what was fetched.
    discard_fetched { fetched_id: String } -> ();
    /// What a server has to be read.
    list_resources { server_id: String } -> ResourceListView;
    /// What a server suggests for a variable of a template while it is typed.
    complete_resource_variable { server_id: String, template: String, variable: String, typed: String, others: Vec<(String, String)> } -> CompletionView;
    /// Reads a resource because the user asked. The model has nothing of it by this.
    read_server_resource { server_id: String, uri: String } -> FetchedView;
    /// Reads the resource that a template names with some values.
    read_resource_template { server_id: String, template: String, values: Vec<(String, String)> } -> FetchedView;
    /// Attaches a resource that was read: a user's action, recorded as such (rule H25).
    attach_resource { conversation_id: String, fetched_id: String } -> ();
    /// Asks a server to tell of changes of a resource, or not to any more.
    subscribe_resource { server_id: String, uri: String, wanted: bool } -> ();

    /// What the form of a server holds, without the values of secrets.
    server_form { server_id: String } -> ServerForm;
    /// Adds or changes a server.
    save_server { server_id: Option<String>, form: ServerForm } -> String;
    /// Starts a server apart from the one that runs, asks what it offers, and ends it. Nothing that is kept changes.
    test_server { server_id: Option<String>, form: ServerForm } -> ServerTest;
    /// Speaks only this revision with a server, or negotiates again.
    pin_revision { server_id: String, revision: Option<String> } -> ();
    /// Begins or repeats the sign-in at a server.
    sign_in { server_id: String } -> ();
    /// Forgets what a sign-in brought.
    sign_out { server_id: String } -> ();
    /// The lists of servers that other programs keep on this computer.
    known_configurations {} -> Vec<KnownConfiguration>;
    /// What a list of servers would bring. Nothing is kept, and nothing runs.
    review_configuration { source: ConfigurationSource } -> ImportReview;
    /// Keeps servers of a list as it was reviewed, with what the person said for its inputs. Answers their ids.
    import_servers { source: ConfigurationSource, digest: String, chosen: Vec<ImportChoice>, inputs: Vec<(String, String)> } -> Vec<String>;
    /// The servers as a file for other programs, without secrets.
    export_servers {} -> ExportedServers;
    /// Writes that file to the user's folder for downloads.
    save_servers_export {} -> SavedFile;
    /// Removes a server.
    remove_server { server_id: String } -> ();
    /// Turns a server on or off.
    enable_server { server_id: String, enabled: bool } -> ();
    /// Ends the server's process and starts it again.
    restart_server { server_id: String } -> ();
    /// Lines of the wire, stderr and noise after a sequence number.
    wire_lines { server_id: Option<String>, after_seq: u32, limit: u32 } -> Vec<WireLine>;
    /// Takes back what was approved for a tool, or for every tool of the server.
    revoke_approval { server_id: String, tool: Option<String> } -> ();
    /// What the person lets a server have: the model, folders, and how much it tells.
    server_trust { server_id: String } -> ServerTrustView;
    /// Changes that. The server is started again if it must hear of it.
    set_server_trust { server_id: String, trust: ServerTrustView } -> ();
    /// Chooses how results of earlier revisions reach the model.
    set_legacy_policy { server_id: String, tool: String, policy: LegacyPolicyView } -> ();

    /// Adds or changes a model.
    save_model { model_id: Option<String>, provider: String, base_url: String, name: String, key: Option<String>, context_tokens: Option<u32>, takes_images: bool } -> ModelView;
    /// Removes a model.
    remove_model { model_id: String } -> ();
    /// Asks an endpoint for its models.
    test_provider { base_url: String, key: Option<String> } -> ProviderTest;
    /// Looks for Ollama, LM Studio and llama.cpp on their usual ports.
    find_local_models {} -> Vec<LocalEndpoint>;
    /// Keeps the settings.
    save_settings { settings: Settings } -> ();

    /// Rows of a table, sorted and filtered.
    table_window { handle: String, sort: Option<SortBy>, filter: String, offset: u32, limit: u32 } -> TableWindow;
    /// Children of a JSON value.
    json_children { handle: String, pointer: String, offset: u32, limit: u32 } -> JsonChildren;
    /// The text of a payload, from its start.
    payload_text { handle: String, limit: u32 } -> PayloadText;
    /// Writes an output to the user's folder for downloads. `format` is `csv`, `json` or `file`.
    save_output { handle: String, format: String, index: Option<u32>, sort: Option<SortBy>, filter: String } -> SavedFile;
    /// An output as text for the clipboard. `format` is `csv` or `json`.
    copy_output { handle: String, format: String, sort: Option<SortBy>, filter: String } -> String;
    /// Reads a linked resource because the user asked. Answers the handle of what is shown.
    read_resource { conversation_id: String, call_id: String, uri: String } -> ();
    /// Opens a web address outside, after the user agreed.
    open_link { url: String } -> ();

    /// The exact bytes of a request to a model.
    exchange_body { exchange_id: String } -> ExchangeBody;

    /// What the tools of a server would be called with, if its contract were checked.
    plan_check { server_id: String } -> CheckPlan;
    /// Checks a server's contract, on a process of its own. Answers the check's id.
    start_check { server_id: String, revision: Option<String>, tools: Vec<CheckTool>, timeout_seconds: u32 } -> String;
    /// Ends a check; what was found so far is reported.
    stop_check { check_id: String } -> ();
    /// The checks that run and the last that ran, newest first.
    checks {} -> Vec<CheckView>;
    /// What a check came to.
    check_report { check_id: String } -> CheckReport;
    /// What a finding was found in, as it came.
    check_evidence { check_id: String, evidence: u32 } -> EvidenceView;
    /// A report as text. `format` is `json` or `junit`.
    export_check { check_id: String, format: String } -> String;
    /// Writes a report to the user's folder for downloads.
    save_check { check_id: String, format: String } -> SavedFile;
    /// Judges a result, or a whole response, against a schema of its structured part.
    judge_pasted { result: String, schema: String, revision: Option<String> } -> PastedView;

    /// Runs a script against the conversation's servers. Answers the run's id.
    run_script { conversation_id: String, source: String } -> String;
    /// Stops a script.
    stop_script { run_id: String } -> ();
    /// TypeScript declarations of the tools that scripts see (rule H15).
    script_types { conversation_id: String } -> String;

    /// Prepares a View for a call.
    open_view { call_id: String } -> ViewLaunch;
    /// A request that a View made, checked and answered.
    view_request { view_id: String, request_id: u32, method: String, params_json: String } -> ViewAnswer;
    /// The View does not wait for the answer any more.
    cancel_view_request { view_id: String, request_id: u32 } -> ();
    /// A View says which tools it offers itself. Answers what of them is taken.
    set_view_tools { view_id: String, tools_json: String } -> OwnToolsView;
    /// A View answers a call of such a tool.
    answer_view_call { view_id: String, call: u32, answer: ViewAnswer } -> ();
    /// A View is gone.
    close_view { view_id: String } -> ();
    /// What was answered for the Views of a server.
    view_answers { server_id: String } -> ViewAnswers;
    /// Allows the Views of a server something, or takes it back from open ones too.
    set_view_access { server_id: String, wishes: Vec<WishView>, allowed: bool } -> ();
    /// Forgets what was answered: the Views have nothing, and are asked about again.
    forget_view_answers { server_id: String } -> ();
    /// Where requests of Views to the network wanted to go that did not pass, the last one last. Which View it was is not known.
    refused_targets {} -> Vec<RefusedTarget>;

    /// What the window was opened for, if it was for the bench.
    bench_start {} -> Option<BenchStart>;
    /// The tools of a server whose Views can be shown on the bench.
    bench_tools { server_id: String } -> Vec<BenchTool>;
    /// Prepares a View on the bench, which is told its input in so many pieces first. Its calls are recorded in a conversation, which asks for them too.
    open_bench { conversation_id: String, server_id: String, form: BenchForm, pieces: u32 } -> ViewLaunch;
    /// From now on the host answers a View on the bench so.
    change_bench { view_id: String, form: BenchForm } -> ();
    /// Tells a View on the bench how its call ended.
    end_bench_call { view_id: String, form: BenchForm } -> ();
    /// Calls a tool that a View on the bench offers itself, as its author wants it.
    call_bench_tool { view_id: String, tool: String, arguments_json: String } -> ViewAnswer;
    /// Judges what is on the bench by what the tool declares.
    judge_bench { server_id: String, form: BenchForm } -> BenchVerdictView;
    /// Whether the server gives another document now.
    bench_news { view_id: String } -> BenchNews;
    /// Starts a server again whenever one of these files changes; without a path no more.
    watch_for_bench { server_id: String, paths: Vec<String> } -> ();
    /// The names of the fixtures that are kept.
    bench_fixtures {} -> Vec<String>;
    /// Opens a fixture by its name, or by the path of its file.
    open_bench_fixture { place: String } -> BenchForm;
    /// Saves a fixture under a name, or under the path of a file.
    save_bench_fixture { place: String, form: BenchForm } -> SavedFile;
}
