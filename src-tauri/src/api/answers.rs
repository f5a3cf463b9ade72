//! What each command of the window does.

use std::path::PathBuf;

use usher_engine::routing::LegacyPolicy;
use usher_host::{
    conversation::{self as host, NewModel, SaveFormat},
    model::ToolChoice,
    payload::Sort,
};

use super::{
    ApiError, Commands, Usher, access, asked, bench, custom, own_tools, server_form,
    types::{
        ApprovalChoice, BenchForm, BenchNews, BenchStart, BenchTool, BenchVerdictView, CheckPlan,
        CheckReport, CheckTool, CheckView, CompletionView, ConfigurationSource, ConversationSummary,
        ConversationView, CustomChoice, EvidenceView, ExchangeBody, ExportedServers, FetchedView,
        ImportChoice, ImportReview, JsonChildren, KnownConfiguration, LegacyPolicyView, LocalEndpoint,
        ModeName, ModelView, OwnToolsView, PastedView, PayloadText, PromptListView, ProviderTest,
        QuestionAction, RefusedTarget, ResourceListView, SavedFile, SearchHitView, SelectionPreview,
        ServerForm, ServerTest, ServerTrustView, Settings, SortBy, TableWindow, UiEvent, ViewAnswer,
        ViewAnswers, ViewLaunch, WireLine, WishView,
    },
    view,
};

pub(super) fn refuse(what: impl Into<String>, todo: &str) -> ApiError {
    ApiError { what: what.into(), safe: "Nothing was changed.".to_owned(), todo: todo.to_owned() }
}

fn sort_of(sort: Option<SortBy>) -> Option<Sort> {
    sort.map(|it| Sort { column: it.column, descending: it.descending })
}

fn format_of(format: &str, index: Option<u32>) -> Result<SaveFormat, ApiError> {
    match (format, index) {
        ("csv", _) => Ok(SaveFormat::Csv),
        ("json", _) => Ok(SaveFormat::Json),
        ("file", Some(index)) => Ok(SaveFormat::File(usize::try_from(index).unwrap_or(usize::MAX))),
        _ => Err(refuse(format!("{format:?} is no format of an output."), "Choose csv, json or file.")),
    }
}

/// The user's folder for downloads.
pub(super) fn downloads() -> PathBuf {
    let fallback = || dirs::home_dir().unwrap_or_else(std::env::temp_dir).join("Downloads");
    std::env::var_os("USHER_DOWNLOAD_DIR")
        .map(PathBuf::from)
        .or_else(dirs::download_dir)
        .unwrap_or_else(fallback)
}

impl Commands for Usher {
    async fn search(&self, query: String) -> Result<Vec<SearchHitView>, ApiError> {
        let hits = self.host.search(&query).await?.into_iter();
        Ok(hits
            .map(|it| SearchHitView {
                conversation_id: it.conversation_id,
                title: it.title,
                item_id: it.item_id,
                snippet: it.snippet,
            })
            .collect())
    }

    async fn create_conversation(
        &self,
        mode: Option<ModeName>,
        model_id: Option<String>,
    ) -> Result<ConversationSummary, ApiError> {
        Ok(view::summary(self.host.create_conversation(mode.map(view::mode_of), model_id).await?))
    }

    async fn open_conversation(&self, conversation_id: String) -> Result<ConversationView, ApiError> {
        let mut opened = self.host.open_conversation(&conversation_id).await?;
        let mut items = Vec::new();
        for item in opened.items {
            let call = match &item.body {
                host::ItemBody::Call { call_id } => opened.calls.remove(call_id),
                host::ItemBody::User
                | host::ItemBody::Assistant(_)
                | host::ItemBody::Door(_)
                | host::ItemBody::Brought(_)
                | host::ItemBody::Note => None,
            };
            items.push(view::item(&self.host, item, call).await);
        }
        Ok(ConversationView {
            summary: view::summary(opened.summary),
            items,
            turn: view::turn(opened.turn),
            ledger: opened.ledger.into_iter().map(view::ledger).collect(),
            exchanges: opened.exchanges.into_iter().map(view::exchange).collect(),
            repairs: opened.repairs,
            custom: opened.custom.into_iter().map(custom::view).collect(),
        })
    }

    async fn rename_conversation(&self, conversation_id: String, title: String) -> Result<(), ApiError> {
        self.host.configure_conversation(&conversation_id, Some(title), None, None, None).await?;
        Ok(())
    }

    async fn delete_conversation(&self, conversation_id: String) -> Result<(), ApiError> {
        Ok(self.host.delete_conversation(&conversation_id).await?)
    }

    async fn configure_conversation(
        &self,
        conversation_id: String,
        mode: Option<ModeName>,
        model_id: Option<String>,
        custom: Option<Vec<CustomChoice>>,
    ) -> Result<ConversationSummary, ApiError> {
        let custom = custom.map(custom::read).transpose()?;
        let mode = mode.map(view::mode_of);
        Ok(view::summary(
            self.host.configure_conversation(&conversation_id, None, mode, model_id, custom).await?,
        ))
    }

    async fn send_message(&self, conversation_id: String, text: String) -> Result<(), ApiError> {
        Ok(self.host.send_message(&conversation_id, &text, ToolChoice::Auto).await?)
    }

    async fn stop_turn(&self, conversation_id: String) -> Result<(), ApiError> {
        self.host.stop_turn(&conversation_id).await;
        Ok(())
    }

    async fn retry_turn(&self, conversation_id: String) -> Result<(), ApiError> {
        Ok(self.host.retry_turn(&conversation_id).await?)
    }

    async fn answer_approval(&self, call_id: String, choice: ApprovalChoice) -> Result<(), ApiError> {
        Ok(self.host.answer_approval(&call_id, asked::choice(choice))?)
    }

    async fn answer_question(
        &self,
        question_id: String,
        action: QuestionAction,
        content_json: Option<String>,
    ) -> Result<(), ApiError> {
        Ok(self.host.answer_question(&question_id, asked::answer(action, content_json))?)
    }

    async fn call_tool(
        &self,
        conversation_id: String,
        server_id: String,
        tool: String,
        arguments_json: String,
    ) -> Result<(), ApiError> {
        self.host.call_tool(&conversation_id, &server_id, &tool, &arguments_json).await?;
        Ok(())
    }

    async fn cancel_call(&self, call_id: String) -> Result<(), ApiError> {
        self.host.cancel_call(&call_id);
        Ok(())
    }

    async fn preview_selection(&self, conversation_id: String) -> Result<Vec<SelectionPreview>, ApiError> {
        Ok(self.host.preview_selection(&conversation_id).await?.into_iter().map(view::preview).collect())
    }

    async fn show_the_model(&self, conversation_id: String, handle: String) -> Result<(), ApiError> {
        Ok(self.host.show_the_model(&conversation_id, &handle).await?)
    }

    async fn take_back(&self, conversation_id: String, item_id: String) -> Result<(), ApiError> {
        Ok(self.host.take_back(&conversation_id, &item_id).await?)
    }

    async fn list_prompts(&self) -> Result<PromptListView, ApiError> {
        Ok(view::prompts(self.host.list_prompts().await))
    }

    async fn complete_prompt_argument(
        &self,
        server_id: String,
        prompt: String,
        argument: String,
        typed: String,
        others: Vec<(String, String)>,
    ) -> Result<CompletionView, ApiError> {
        let others = others.into_iter().collect();
        let asked = self.host.complete_prompt_argument(&server_id, &prompt, &argument, &typed, &others);
        Ok(view::completion(asked.await?))
    }

    async fn use_prompt(
        &self,
        server_id: String,
        prompt: String,
        arguments: Vec<(String, String)>,
    ) -> Result<FetchedView, ApiError> {
        let arguments = arguments.into_iter().collect();
        let fetched = self.host.use_prompt(&server_id, &prompt, arguments).await?;
        Ok(view::fetched(&self.host, &fetched).await)
    }

    async fn send_prompt(&self, conversation_id: String, fetched_id: String) -> Result<(), ApiError> {
        Ok(self.host.send_prompt(&conversation_id, &fetched_id).await?)
    }

    async fn discard_fetched(&self, fetched_id: String) -> Result<(), ApiError> {
        self.host.discard_fetched(&fetched_id);
        Ok(())
    }

    async fn list_resources(&self, server_id: String) -> Result<ResourceListView, ApiError> {
        Ok(view::resources(self.host.list_resources(&server_id).await?))
    }

    async fn complete_resource_variable(
        &self,
        server_id: String,
        template: String,
        variable: String,
        typed: String,
        others: Vec<(String, String)>,
    ) -> Result<CompletionView, ApiError> {
        let others = others.into_iter().collect();
        let asked = self.host.complete_resource_variable(&server_id, &template, &variable, &typed, &others);
        Ok(view::completion(asked.await?))
    }

    async fn read_server_resource(&self, server_id: String, uri: String) -> Result<FetchedView, ApiError> {
        let fetched = self.host.read_server_resource(&server_id, &uri).await?;
        Ok(view::fetched(&self.host, &fetched).await)
    }

    async fn read_resource_template(
        &self,
        server_id: String,
        template: String,
        values: Vec<(String, String)>,
    ) -> Result<FetchedView, ApiError> {
        let values = values.into_iter().collect();
        let fetched = self.host.read_resource_template(&server_id, &template, &values).await?;
        Ok(view::fetched(&self.host, &fetched).await)
    }

    async fn attach_resource(&self, conversation_id: String, fetched_id: String) -> Result<(), ApiError> {
        Ok(self.host.attach_resource(&conversation_id, &fetched_id).await?)
    }

    async fn subscribe_resource(&self, server_id: String, uri: String, wanted: bool) -> Result<(), ApiError> {
        Ok(self.host.subscribe_resource(&server_id, &uri, wanted).await?)
    }

    async fn server_form(&self, server_id: String) -> Result<ServerForm, ApiError> {
        let (name, spec) = self.host.server_spec(&server_id)?;
        Ok(server_form::form(name, spec))
    }

    async fn save_server(&self, server_id: Option<String>, form: ServerForm) -> Result<String, ApiError> {
        let old = server_id.as_deref().and_then(|it| self.host.server_spec(it).ok());
        let (name, spec) = server_form::spec(&form, old.as_ref().map(|it| &it.1))?;
        Ok(self.host.save_server(server_id, name, spec).await?)
    }

    async fn test_server(&self, server_id: Option<String>, form: ServerForm) -> Result<ServerTest, ApiError> {
        let old = server_id.as_deref().and_then(|it| self.host.server_spec(it).ok());
        let (name, spec) = server_form::spec(&form, old.as_ref().map(|it| &it.1))?;
        Ok(server_form::test(self.host.test_server(server_id.as_deref(), &name, &spec).await))
    }

    async fn pin_revision(&self, server_id: String, revision: Option<String>) -> Result<(), ApiError> {
        let revision = revision.as_deref().map(server_form::revision).transpose()?;
        Ok(self.host.pin_revision(&server_id, revision).await?)
    }

    async fn sign_in(&self, server_id: String) -> Result<(), ApiError> {
        Ok(self.host.sign_in(&server_id).await?)
    }

    async fn sign_out(&self, server_id: String) -> Result<(), ApiError> {
        Ok(self.host.sign_out(&server_id).await?)
    }

    async fn known_configurations(&self) -> Result<Vec<KnownConfiguration>, ApiError> {
        Ok(self.host.known_lists().await.into_iter().map(server_form::known).collect())
    }

    async fn review_configuration(&self, source: ConfigurationSource) -> Result<ImportReview, ApiError> {
        Ok(server_form::review(self.host.review_list(&server_form::source(source)).await?))
    }

    async fn import_servers(
        &self,
        source: ConfigurationSource,
        digest: String,
        chosen: Vec<ImportChoice>,
        inputs: Vec<(String, String)>,
    ) -> Result<Vec<String>, ApiError> {
        let choice = |it: ImportChoice| host::ListChoice { key: it.key, name: it.name, enabled: it.enabled };
        let chosen: Vec<host::ListChoice> = chosen.into_iter().map(choice).collect();
        let inputs = inputs.into_iter().collect();
        Ok(self.host.import_servers(&server_form::source(source), &digest, &chosen, &inputs).await?)
    }

    async fn export_servers(&self) -> Result<ExportedServers, ApiError> {
        let (text, remarks) = self.host.export_servers();
        Ok(ExportedServers { text, remarks })
    }

    async fn save_servers_export(&self) -> Result<SavedFile, ApiError> {
        let (path, bytes) = self.host.save_servers_export(&downloads()).await?;
        Ok(SavedFile { path: path.display().to_string(), bytes })
    }

    async fn remove_server(&self, server_id: String) -> Result<(), ApiError> {
        Ok(self.host.remove_server(&server_id).await?)
    }

    async fn enable_server(&self, server_id: String, enabled: bool) -> Result<(), ApiError> {
        Ok(self.host.enable_server(&server_id, enabled).await?)
    }

    async fn restart_server(&self, server_id: String) -> Result<(), ApiError> {
        Ok(self.host.restart_server(&server_id)?)
    }

    async fn wire_lines(
        &self,
        server_id: Option<String>,
        after_seq: u32,
        limit: u32,
    ) -> Result<Vec<WireLine>, ApiError> {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let lines = self.host.wire_lines(server_id.as_deref(), after_seq.into(), limit);
        Ok(lines.into_iter().map(view::wire).collect())
    }

    async fn revoke_approval(&self, server_id: String, tool: Option<String>) -> Result<(), ApiError> {
        Ok(self.host.revoke_approval(&server_id, tool).await?)
    }

    async fn server_trust(&self, server_id: String) -> Result<ServerTrustView, ApiError> {
        Ok(asked::trust(self.host.server_trust(&server_id)))
    }

    async fn set_server_trust(&self, server_id: String, trust: ServerTrustView) -> Result<(), ApiError> {
        Ok(self.host.set_server_trust(&server_id, asked::trust_of(trust)).await?)
    }

    async fn set_legacy_policy(
        &self,
        server_id: String,
        tool: String,
        policy: LegacyPolicyView,
    ) -> Result<(), ApiError> {
        let policy = match policy {
            LegacyPolicyView::ContentFirst => LegacyPolicy::ContentFirst,
            LegacyPolicyView::StructuredFirst => LegacyPolicy::StructuredFirst,
        };
        Ok(self.host.set_legacy_policy(&server_id, &tool, policy).await?)
    }

    async fn save_model(
        &self,
        model_id: Option<String>,
        provider: String,
        base_url: String,
        name: String,
        key: Option<String>,
        context_tokens: Option<u32>,
        takes_images: bool,
    ) -> Result<ModelView, ApiError> {
        let context_tokens = context_tokens.map(u64::from);
        let new = NewModel { id: model_id, provider, base_url, name, key, context_tokens, takes_images };
        Ok(view::model(self.host.save_model(new).await?))
    }

    async fn remove_model(&self, model_id: String) -> Result<(), ApiError> {
        Ok(self.host.remove_model(&model_id).await?)
    }

    async fn test_provider(&self, base_url: String, key: Option<String>) -> Result<ProviderTest, ApiError> {
        Ok(match self.host.list_models(&base_url, key.as_deref()).await {
            Ok(models) => ProviderTest {
                ok: true,
                what: format!("The endpoint answers and lists {} models.", models.len()),
                todo: "Choose one of them.".to_owned(),
                models,
            },
            Err(error) => ProviderTest { ok: false, what: error.what, todo: error.todo, models: Vec::new() },
        })
    }

    async fn find_local_models(&self) -> Result<Vec<LocalEndpoint>, ApiError> {
        let found = self.host.find_local_models().await.into_iter();
        Ok(found
            .map(|it| LocalEndpoint {
                name: it.name.to_owned(),
                base_url: it.base_url.to_string(),
                models: it.models,
            })
            .collect())
    }

    async fn save_settings(&self, settings: Settings) -> Result<(), ApiError> {
        self.host.save_preferences(view::preferences(settings.clone())).await?;
        self.tell(UiEvent::SettingsChanged { settings });
        Ok(())
    }

    async fn table_window(
        &self,
        handle: String,
        sort: Option<SortBy>,
        filter: String,
        offset: u32,
        limit: u32,
    ) -> Result<TableWindow, ApiError> {
        let (offset, limit) = (to_usize(offset), to_usize(limit));
        Ok(view::table(self.host.table_window(&handle, sort_of(sort), filter, offset, limit).await?))
    }

    async fn json_children(
        &self,
        handle: String,
        pointer: String,
        offset: u32,
        limit: u32,
    ) -> Result<JsonChildren, ApiError> {
        let (offset, limit) = (to_usize(offset), to_usize(limit));
        Ok(view::children(self.host.json_children(&handle, pointer, offset, limit).await?))
    }

    async fn payload_text(&self, handle: String, limit: u32) -> Result<PayloadText, ApiError> {
        let slice = self.host.payload_text(&handle, to_usize(limit)).await?;
        Ok(PayloadText {
            total_bytes: slice.total as u64,
            whole: slice.text.len() == slice.total,
            text: slice.text,
            label: slice.label,
        })
    }

    async fn save_output(
        &self,
        handle: String,
        format: String,
        index: Option<u32>,
        sort: Option<SortBy>,
        filter: String,
    ) -> Result<SavedFile, ApiError> {
        let format = format_of(&format, index)?;
        let (path, bytes) =
            self.host.save_output(&downloads(), &handle, format, sort_of(sort), filter).await?;
        Ok(SavedFile { path: path.display().to_string(), bytes })
    }

    async fn copy_output(
        &self,
        handle: String,
        format: String,
        sort: Option<SortBy>,
        filter: String,
    ) -> Result<String, ApiError> {
        Ok(self.host.copy_output(&handle, format_of(&format, None)?, sort_of(sort), filter).await?)
    }

    async fn read_resource(
        &self,
        conversation_id: String,
        call_id: String,
        uri: String,
    ) -> Result<(), ApiError> {
        Ok(self.host.read_resource(&conversation_id, &call_id, &uri).await?)
    }

    async fn open_link(&self, url: String) -> Result<(), ApiError> {
        let scheme = url.split_once(':').map(|it| it.0.to_ascii_lowercase()).unwrap_or_default();
        if !["http", "https", "mailto"].contains(&scheme.as_str()) {
            return Err(refuse(
                format!("Links of the kind {scheme:?} are not opened."),
                "Copy the address if you trust it.",
            ));
        }
        open::that_detached(&url).map_err(|error| {
            refuse(format!("The address could not be opened outside: {error}."), "Copy it into your browser.")
        })
    }

    async fn exchange_body(&self, exchange_id: String) -> Result<ExchangeBody, ApiError> {
        let found = self.host.exchange_body(&exchange_id).await?;
        let spans = view::spans(&found.body, found.spans);
        Ok(ExchangeBody {
            exchange: view::exchange(found.exchange),
            spans,
            body: found.body,
            headers: found.headers,
        })
    }

    async fn plan_check(&self, server_id: String) -> Result<CheckPlan, ApiError> {
        Ok(self.planned_check(&server_id))
    }

    async fn start_check(
        &self,
        server_id: String,
        revision: Option<String>,
        tools: Vec<CheckTool>,
        timeout_seconds: u32,
    ) -> Result<String, ApiError> {
        self.begin_check(server_id, revision, tools, timeout_seconds).await
    }

    async fn stop_check(&self, check_id: String) -> Result<(), ApiError> {
        self.end_check(&check_id);
        Ok(())
    }

    async fn checks(&self) -> Result<Vec<CheckView>, ApiError> {
        Ok(self.kept_checks())
    }

    async fn check_report(&self, check_id: String) -> Result<CheckReport, ApiError> {
        self.report_view(&check_id)
    }

    async fn check_evidence(&self, check_id: String, evidence: u32) -> Result<EvidenceView, ApiError> {
        self.evidence(&check_id, evidence)
    }

    async fn export_check(&self, check_id: String, format: String) -> Result<String, ApiError> {
        self.report_text(&check_id, &format)
    }

    async fn save_check(&self, check_id: String, format: String) -> Result<SavedFile, ApiError> {
        self.save_report(&check_id, &format).await
    }

    async fn judge_pasted(
        &self,
        result: String,
        schema: String,
        revision: Option<String>,
    ) -> Result<PastedView, ApiError> {
        super::contract::judge_pasted(&result, &schema, revision.as_deref())
    }

    async fn run_script(&self, conversation_id: String, source: String) -> Result<String, ApiError> {
        Ok(self.host.run_script(&conversation_id, source).await?)
    }

    async fn stop_script(&self, run_id: String) -> Result<(), ApiError> {
        self.host.stop_script(&run_id);
        Ok(())
    }

    async fn script_types(&self, conversation_id: String) -> Result<String, ApiError> {
        Ok(self.host.script_types(&conversation_id).await?)
    }

    async fn look_at_conversation(&self, conversation_id: String) -> Result<(), ApiError> {
        self.host.look_at_conversation(&conversation_id);
        Ok(())
    }

    async fn open_view(&self, call_id: String) -> Result<ViewLaunch, ApiError> {
        Ok(bench::launch(self.host.open_view(&call_id).await?))
    }

    async fn view_request(
        &self,
        view_id: String,
        request_id: u32,
        method: String,
        params_json: String,
    ) -> Result<ViewAnswer, ApiError> {
        let reply = self.host.view_request(&view_id, request_id, &method, &params_json).await?;
        Ok(own_tools::answer(reply))
    }

    async fn set_view_tools(&self, view_id: String, tools_json: String) -> Result<OwnToolsView, ApiError> {
        Ok(own_tools::taken(&self.host.set_view_tools(&view_id, tools_json).await?))
    }

    async fn answer_view_call(&self, view_id: String, call: u32, answer: ViewAnswer) -> Result<(), ApiError> {
        Ok(self.host.answer_view_call(&view_id, call, own_tools::reply(answer)?)?)
    }

    async fn call_bench_tool(
        &self,
        view_id: String,
        tool: String,
        arguments_json: String,
    ) -> Result<ViewAnswer, ApiError> {
        Ok(own_tools::answer(self.host.call_bench_tool(&view_id, &tool, &arguments_json).await?))
    }

    async fn cancel_view_request(&self, view_id: String, request_id: u32) -> Result<(), ApiError> {
        self.host.cancel_view_request(&view_id, request_id);
        Ok(())
    }

    async fn close_view(&self, view_id: String) -> Result<(), ApiError> {
        self.host.close_view(&view_id);
        Ok(())
    }

    async fn view_answers(&self, server_id: String) -> Result<ViewAnswers, ApiError> {
        Ok(access::answers(self.host.view_access(&server_id)))
    }

    async fn set_view_access(
        &self,
        server_id: String,
        wishes: Vec<WishView>,
        allowed: bool,
    ) -> Result<(), ApiError> {
        Ok(self.host.set_view_access(&server_id, access::wishes_of(wishes), allowed).await?)
    }

    async fn forget_view_answers(&self, server_id: String) -> Result<(), ApiError> {
        Ok(self.host.forget_view_access(&server_id).await?)
    }

    async fn refused_targets(&self) -> Result<Vec<RefusedTarget>, ApiError> {
        Ok(access::refused(self.host.refused_targets()))
    }

    async fn bench_start(&self) -> Result<Option<BenchStart>, ApiError> {
        Ok(self.bench.clone())
    }

    async fn bench_tools(&self, server_id: String) -> Result<Vec<BenchTool>, ApiError> {
        Ok(self.tools_for_bench(&server_id))
    }

    async fn open_bench(
        &self,
        conversation_id: String,
        server_id: String,
        form: BenchForm,
        pieces: u32,
    ) -> Result<ViewLaunch, ApiError> {
        let fixture = bench::fixture(form)?;
        Ok(bench::launch(self.host.open_bench(&conversation_id, &server_id, fixture, pieces).await?))
    }

    async fn change_bench(&self, view_id: String, form: BenchForm) -> Result<(), ApiError> {
        Ok(self.host.change_bench(&view_id, bench::fixture(form)?)?)
    }

    async fn end_bench_call(&self, view_id: String, form: BenchForm) -> Result<(), ApiError> {
        Ok(self.host.end_bench_call(&view_id, bench::fixture(form)?)?)
    }

    async fn judge_bench(&self, server_id: String, form: BenchForm) -> Result<BenchVerdictView, ApiError> {
        Ok(bench::verdict(self.host.judge_bench(&server_id, bench::fixture(form)?).await?))
    }

    async fn bench_news(&self, view_id: String) -> Result<BenchNews, ApiError> {
        Ok(bench::news(self.host.bench_news(&view_id).await))
    }

    async fn watch_for_bench(&self, server_id: String, paths: Vec<String>) -> Result<(), ApiError> {
        Ok(self.host.watch_for_bench(&server_id, paths.into_iter().map(PathBuf::from).collect())?)
    }

    async fn bench_fixtures(&self) -> Result<Vec<String>, ApiError> {
        Ok(self.host.bench_fixtures().await)
    }

    async fn open_bench_fixture(&self, place: String) -> Result<BenchForm, ApiError> {
        Ok(bench::form(self.host.open_fixture(&place).await?))
    }

    async fn save_bench_fixture(&self, place: String, form: BenchForm) -> Result<SavedFile, ApiError> {
        let (path, bytes) = self.host.save_fixture(&place, &bench::fixture(form)?).await?;
        Ok(SavedFile { path: path.display().to_string(), bytes })
    }
}

fn to_usize(it: u32) -> usize {
    usize::try_from(it).unwrap_or(usize::MAX)
}
