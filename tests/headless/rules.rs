//! The table of the requirement ledger: which tests prove which requirement. A requirement without a test fails here.

use std::collections::{BTreeMap, BTreeSet};

use usher_protocol::Rule;
use usher_tests::tree::sources;

/// Each requirement with its tests, by the names of their functions. `H` and `S` are [`Rule`]s; `P` are the cases of the proposal's own
/// test plan; `K` are the requirements on a server library, and `X` what the definition of the Apps extension has to say.
const TABLE: &[(&str, &[&str])] = &[
    ("H01", &["h01_an_audience_that_was_not_negotiated_reaches_nobody"]),
    ("H02", &["h02_a_block_annotation_does_not_move_an_output"]),
    ("H03", &["h03_a_pair_that_does_not_exist_reaches_nobody"]),
    (
        "H04",
        &[
            "h04_each_variant_is_checked_against_its_own_schema",
            "each_defect_of_an_output_is_named_by_its_rule",
            "p11_programmatic_and_app_schemas_are_validated_independently",
        ],
    ),
    ("H05", &["h05_an_error_is_not_held_to_the_success_schema", "h05_an_error_is_shown_unvalidated"]),
    ("H06", &["h06_a_pair_declared_twice_makes_the_declaration_invalid"]),
    ("H07", &["h07_a_declaration_without_assistant_content_is_rejected"]),
    ("H08", &["h08_and_h12_an_extension_that_was_not_negotiated_is_neither_usable_nor_asked_for"]),
    (
        "H09",
        &[
            "h09_a_tool_without_variants_is_refused_and_the_others_stay",
            "h09_the_earlier_revision_is_offered_and_pinning_it_makes_the_tool_usable",
        ],
    ),
    ("H10", &["h10_nothing_is_selected_under_an_earlier_revision"]),
    ("H11", &["h11_and_h13_a_choice_is_of_declared_variants_and_each_once"]),
    ("H12", &["h08_and_h12_an_extension_that_was_not_negotiated_is_neither_usable_nor_asked_for"]),
    ("H13", &["h11_and_h13_a_choice_is_of_declared_variants_and_each_once"]),
    (
        "H14",
        &[
            "h14_the_modes_select",
            "h14_a_selection_does_not_depend_on_the_models_arguments",
            "h14_a_selection_that_the_model_writes_is_an_argument_and_selects_nothing",
        ],
    ),
    ("H15", &["h15_a_schema_that_the_model_plans_with_is_the_one_that_will_be_requested"]),
    ("H16", &["h16_without_a_selection_exactly_the_fallback_is_expected"]),
    ("H17", &["h17_structured_data_is_asked_for_only_where_it_can_be_presented"]),
    ("H18", &["h18_a_variant_without_a_schema_can_be_declined_visibly"]),
    ("H19", &["h19_deviations_are_named_and_what_is_safe_is_delivered"]),
    ("H20", &["h20_the_order_of_outputs_means_nothing"]),
    ("H21", &["h21_to_h24_each_audience_has_one_consumer"]),
    (
        "H22",
        &[
            "h21_to_h24_each_audience_has_one_consumer",
            "h22_the_model_is_told_that_the_user_was_shown_something_and_nothing_more",
        ],
    ),
    ("H23", &["h21_to_h24_each_audience_has_one_consumer"]),
    ("H24", &["h21_to_h24_each_audience_has_one_consumer"]),
    (
        "H25",
        &[
            "h25_an_output_goes_further_only_by_a_recorded_action",
            "h25_what_the_user_was_shown_reaches_the_model_only_when_they_show_it",
            "what_a_script_of_the_model_returns_goes_through_a_recorded_door",
        ],
    ),
    (
        "H26",
        &[
            "h26_result_metadata_reaches_nobody_but_the_extensions_own_entry",
            "h26_metadata_of_an_earlier_result_is_not_shown_as_the_result",
            "p15_unrequested_outputs_and_metadata_reach_nobody",
        ],
    ),
    ("H27", &["h27_errors_are_not_substituted_and_empty_outputs_are_a_defect"]),
    (
        "H28",
        &[
            "h28_the_view_receives_its_output_only",
            "p06_an_apps_call_gives_the_model_prose_and_the_view_its_data",
            "p15_unrequested_outputs_and_metadata_reach_nobody",
            "a_view_is_handed_its_own_output_and_nothing_else",
            "h28_h29_each_revision_decides_what_a_view_is_handed",
        ],
    ),
    (
        "H29",
        &[
            "h29_the_view_of_an_earlier_revision_receives_the_result_as_it_came",
            "h28_h29_each_revision_decides_what_a_view_is_handed",
        ],
    ),
    ("H30", &["h30_an_app_only_tool_is_not_for_models_or_scripts"]),
    ("H31", &["h31_output_variants_under_an_earlier_revision_are_no_signal"]),
    ("H32", &["h32_a_refused_selection_is_told_and_nothing_else_is_asked_for"]),
    // Untrusted whatever their audience, and an audience allows nothing: the user is asked, and a View gets no further than its own tools.
    (
        "H33",
        &[
            "h33_hostile_names_stay_names",
            "a_broken_wire_costs_its_call_and_nothing_else",
            "a_result_that_is_none_is_not_reported_as_success_with_nothing",
            "a_call_waits_for_the_user_and_does_what_they_say",
            "a_views_call_waits_for_the_user_and_ends_with_the_view",
            "a_view_that_asks_for_what_is_not_its_own_is_refused",
            "giant_and_broken_parameters_and_floods_are_answered",
        ],
    ),
    ("H34", &["h34_no_audience_takes_the_place_of_another"]),
    (
        "S01",
        &[
            "s01_every_tool_declares_the_fallback_and_extensions_only_if_negotiated",
            "s01_an_extension_is_negotiated_only_with_the_mime_type_of_views",
        ],
    ),
    ("S02", &["s02_what_the_assistant_gets_can_be_used_alone"]),
    ("S03", &["s03_structured_variants_have_schemas_of_their_own"]),
    ("S04", &["s04_exactly_the_outputs_that_were_requested"]),
    ("S05", &["s05_without_a_selection_the_fallback_alone"]),
    (
        "S06",
        &[
            "s06_undeclared_selector_is_refused",
            "s06_unnegotiated_selector_is_refused",
            "s06_doubled_selector_is_refused",
            "s06_an_empty_selection_is_refused",
        ],
    ),
    (
        "S07",
        &[
            "s07_each_structured_output_conforms_to_its_own_schema",
            "s07_a_payload_that_breaks_its_schema_is_not_sent",
        ],
    ),
    ("S08", &["s08_no_text_mirror_of_a_structured_output"]),
    ("S09", &["s09_outputs_of_one_call_tell_the_same"]),
    (
        "S10",
        &[
            "s10_an_error_is_told_to_each_audience_that_was_asked_for",
            "s10_what_no_output_can_tell_is_a_protocol_error",
            "s10_a_failure_is_projected_for_the_selectors_without_their_schemas",
        ],
    ),
    ("S11", &["s11_earlier_revisions_list_the_legacy_tool"]),
    (
        "S12",
        &[
            "s12_earlier_revisions_get_the_legacy_result",
            "s12_a_tool_without_structured_data_for_the_assistant_gives_content_alone",
        ],
    ),
    (
        "S13",
        &[
            "s13_a_revision_that_is_not_spoken_is_refused",
            "s13_a_request_says_its_revision_and_capabilities",
            "s13_each_request_of_a_connection_may_have_its_own_revision",
            "s13_the_handshake_offers_what_it_has",
        ],
    ),
    ("S14", &["s14_meta_follows_the_selection_and_holds_no_data"]),
    ("P01", &["p01_a_conversational_call_gives_the_model_its_content"]),
    ("P02", &["p02_a_script_receives_the_programmatic_output_and_the_model_what_it_returns"]),
    ("P03", &["p03_a_data_call_gives_the_model_structured_data"]),
    ("P04", &["p04_media_for_the_user_are_shown_and_cost_the_model_nothing"]),
    ("P05", &["p05_a_table_for_the_user_is_shown_and_the_model_is_told_so"]),
    ("P06", &["p06_an_apps_call_gives_the_model_prose_and_the_view_its_data"]),
    ("P07", &["p07_a_declaration_without_assistant_content_is_rejected"]),
    ("P08", &["p08_a_view_calls_an_app_only_tool_and_receives_its_own_output"]),
    ("P09", &["p09_an_app_only_tool_without_a_selection_gives_assistant_content"]),
    ("P10", &["p10_undeclared_and_unnegotiated_selectors_are_rejected"]),
    ("P11", &["p11_programmatic_and_app_schemas_are_validated_independently"]),
    ("P12", &["p12_no_selection_is_sent_under_earlier_revisions"]),
    ("P13", &["p13_declarations_and_results_are_projected_to_each_revision"]),
    ("P14", &["p14_a_tool_without_variants_is_rejected_under_2026_12_01"]),
    ("P15", &["p15_unrequested_outputs_and_metadata_reach_nobody"]),
    ("K01", &["k01_a_declaration_that_breaks_s01_cannot_be_built"]),
    (
        "K02",
        &[
            "k02_no_mirror_now_and_the_recommended_one_before",
            "k02_a_mirror_is_made_for_revisions_that_recommend_it_only",
        ],
    ),
    ("K03", &["k03_one_handler_serves_every_revision", "k03_one_declaration_has_the_shape_of_each_revision"]),
    (
        "K04",
        &[
            "k04_one_schema_is_assumed_for_no_other_audience",
            "k04_a_tool_that_moved_gives_old_clients_what_it_gave",
            "k04_a_tool_may_keep_what_its_old_views_read",
        ],
    ),
    ("K05", &["k05_one_computation_and_the_projections_that_were_asked_for"]),
    (
        "X1",
        &[
            "p06_an_apps_call_gives_the_model_prose_and_the_view_its_data",
            "h28_the_view_receives_its_output_only",
        ],
    ),
    ("X2", &["h03_a_pair_that_does_not_exist_reaches_nobody", "h28_the_view_receives_its_output_only"]),
    (
        "X3",
        &[
            "s03_structured_variants_have_schemas_of_their_own",
            "the_tool_is_told_without_the_shape_of_other_data",
        ],
    ),
    (
        "X4",
        &[
            "p06_an_apps_call_gives_the_model_prose_and_the_view_its_data",
            "p08_a_view_calls_an_app_only_tool_and_receives_its_own_output",
            "x4_the_flat_link_opens_a_view_by_itself",
        ],
    ),
    (
        "X5",
        &[
            "x5_what_a_view_says_reaches_the_model_only_through_a_recorded_door",
            "x5_what_a_view_put_into_the_context_can_be_taken_back_by_the_user_and_by_the_view",
            "x5_the_model_calls_a_views_own_tool_and_reads_its_answer_as_the_views_words",
            "messages_and_context",
        ],
    ),
    (
        "X6",
        &[
            "h26_result_metadata_reaches_nobody_but_the_extensions_own_entry",
            "a_view_is_handed_its_own_output_and_nothing_else",
        ],
    ),
    (
        "X7",
        &[
            "h08_and_h12_an_extension_that_was_not_negotiated_is_neither_usable_nor_asked_for",
            "x7_a_tool_for_views_alone_is_listed_to_clients_that_have_views",
            "x7_without_a_frame_for_views_none_is_advertised",
            "s01_every_tool_declares_the_fallback_and_extensions_only_if_negotiated",
        ],
    ),
    (
        "X8",
        &[
            "the_selected_output_is_a_valid_reduced_result_of_today",
            "h29_the_view_of_an_earlier_revision_receives_the_result_as_it_came",
        ],
    ),
];

/// The names of all tests of the tree, in Rust.
fn tests() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for file in sources(&[".rs"]) {
        let mut is_test = false;
        for line in file.text.lines().map(str::trim) {
            if line.starts_with("#[test") || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if let Some(rest) = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn "))
                && std::mem::take(&mut is_test)
            {
                names.insert(rest.split('(').next().unwrap_or_default().to_owned());
            }
        }
    }
    names
}

/// The requirements that a test names: `h08_and_h12_…` names two, `h21_to_h24_…` four.
fn named_by(test: &str) -> Vec<String> {
    let id = |word: &str| {
        let number = word.strip_prefix(['h', 's', 'p', 'k', 'x'])?;
        let digits = if word.starts_with('x') { 1 } else { 2 };
        let is_id = number.len() == digits && number.bytes().all(|it| it.is_ascii_digit());
        is_id.then(|| word.to_ascii_uppercase())
    };
    let words: Vec<&str> = test.split('_').collect();
    let Some(first) = words.first().and_then(|it| id(it)) else { return Vec::new() };
    match (words.get(1), words.get(2).and_then(|it| id(it))) {
        (Some(&"and"), Some(second)) => vec![first, second],
        (Some(&"to"), Some(last)) => {
            let number = |id: &str| id[1..].parse::<u32>().unwrap_or_default();
            (number(&first)..=number(&last)).map(|it| format!("{}{it:02}", &first[..1])).collect()
        }
        _ => vec![first],
    }
}

#[test]
fn every_requirement_has_a_test_that_exists() {
    let table: BTreeMap<&str, &[&str]> = TABLE.iter().copied().collect();
    assert_eq!(table.len(), TABLE.len(), "a requirement stands twice in the table");
    let tests = tests();
    let required: Vec<String> = Rule::ALL
        .iter()
        .map(|it| it.id().to_owned())
        .chain((1..=15).map(|it| format!("P{it:02}")))
        .chain((1..=5).map(|it| format!("K{it:02}")))
        .chain((1..=8).map(|it| format!("X{it}")))
        .collect();
    let mut wrong = Vec::new();
    for id in required.iter().filter(|it| table.get(it.as_str()).is_none_or(|it| it.is_empty())) {
        wrong.push(format!("{id} has no test"));
    }
    for (id, names) in TABLE {
        if !required.iter().any(|it| it == id) {
            wrong.push(format!("{id} is not a requirement"));
        }
        for name in names.iter().filter(|it| !tests.contains(**it)) {
            wrong.push(format!("{id} names {name}, which is not a test"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_test_that_names_a_requirement_stands_in_the_table() {
    let mut wrong = Vec::new();
    for test in tests() {
        for id in named_by(&test) {
            let row = TABLE.iter().find(|it| it.0 == id);
            if row.is_none_or(|it| !it.1.contains(&test.as_str())) {
                wrong.push(format!("{test} names {id} and is not in its row"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
