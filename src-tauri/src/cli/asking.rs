//! What servers ask, at the terminal: a form field by field, or whether an address will be visited.
//!
//! Deliberately absent: opening the address, which the host does with the yes to it, and asking where nobody sits: then servers hear that nobody can be asked.

use std::io::BufRead;

use usher_host::conversation::{Asked, Choice, Field, FieldKind, QuestionAnswer, QuestionRecord};

use super::terminal::{clean, clean_line};

/// Asks, and reads what the person answers. The end of the input (Ctrl-D) takes it as gone away.
pub(super) fn answer(
    question: &QuestionRecord,
    input: &mut impl BufRead,
    say: &mut impl FnMut(&str),
) -> QuestionAnswer {
    let server = clean_line(&question.server_name);
    match &question.asked {
        Asked::Form { message, fields } => {
            say(&format!(
                "\n{server} asks; not Usher, and not the model. Never give it a password or a key.\n{}\n",
                clean(message)
            ));
            form(&server, fields, input, say).unwrap_or(QuestionAnswer::Cancel)
        }
        Asked::Url { message, url, host } => {
            say(&format!(
                "\n{server} asks you to visit an address, which nobody has checked.\n{}\n  {}\n  at {}\n",
                clean(message),
                clean_line(url),
                clean_line(host)
            ));
            say("Usher opens it in your browser if you say yes. Open it? [y]es, [N]o: ");
            match line(input).map(|it| it.to_lowercase()).as_deref() {
                Some("y" | "yes") => QuestionAnswer::Accept(None),
                Some(_) => QuestionAnswer::Decline,
                None => QuestionAnswer::Cancel,
            }
        }
        // A command says that it cannot be asked for words of a model.
        Asked::Sample(_) | Asked::SampleAnswer(_) => QuestionAnswer::Decline,
        // A command opens no Views; what the window would ask is left to it.
        Asked::ViewAccess { .. } => QuestionAnswer::Cancel,
    }
}

fn form(
    server: &str,
    fields: &[Field],
    input: &mut impl BufRead,
    say: &mut impl FnMut(&str),
) -> Option<QuestionAnswer> {
    let mut parts = Vec::new();
    for field in fields {
        if let Some(json) = fill(field, input, say)? {
            parts.push(format!("{}:{json}", serde_json::Value::from(field.name.as_str())));
        }
    }
    say(&format!("Send this to {server}? [Y]es, [d]ecline: "));
    match line(input)?.to_lowercase().as_str() {
        "" | "y" | "yes" => Some(QuestionAnswer::Accept(Some(format!("{{{}}}", parts.join(","))))),
        _ => Some(QuestionAnswer::Decline),
    }
}

/// The value of a field as JSON, or nothing when it is left out. None at the end of the input.
fn fill(field: &Field, input: &mut impl BufRead, say: &mut impl FnMut(&str)) -> Option<Option<String>> {
    if let Some(description) = &field.description {
        say(&format!("  {}\n", clean(description)));
    }
    let choices: &[Choice] = match &field.kind {
        FieldKind::One(choices) | FieldKind::Many(choices) => choices,
        FieldKind::Text { .. } | FieldKind::Number { .. } | FieldKind::Switch => &[],
    };
    for (at, choice) in choices.iter().enumerate() {
        say(&format!("  {}) {}\n", at + 1, clean_line(&choice.title)));
    }
    let how = match &field.kind {
        FieldKind::Text { .. } => "",
        FieldKind::Number { whole: true, .. } => ", a whole number",
        FieldKind::Number { whole: false, .. } => ", a number",
        FieldKind::Switch => ", y or n",
        FieldKind::One(_) => ", one of these numbers",
        FieldKind::Many(_) => ", any of these numbers with commas between",
    };
    let usual = field.default.as_ref().map(ToString::to_string);
    let rest = match (&usual, field.required) {
        (Some(usual), _) => format!(" [{}]", clean_line(usual)),
        (None, true) => String::new(),
        (None, false) => " (not needed)".to_owned(),
    };
    loop {
        say(&format!("{}{how}{rest}: ", clean_line(&field.title)));
        let written = line(input)?;
        if written.is_empty() {
            if usual.is_some() || !field.required {
                return Some(usual);
            }
            say("This is needed.\n");
            continue;
        }
        match read(&field.kind, &written) {
            Ok(json) => return Some(Some(json)),
            Err(why) => say(&format!("{why}\n")),
        }
    }
}

fn read(kind: &FieldKind, written: &str) -> Result<String, String> {
    let text = |it: &str| serde_json::Value::from(it).to_string();
    let choose = |choices: &[Choice], number: &str| {
        let at = number.trim().parse::<usize>().ok().and_then(|it| it.checked_sub(1));
        let found = at.and_then(|at| choices.get(at));
        found.map(|it| text(&it.value)).ok_or_else(|| format!("There is no {:?} to choose.", number.trim()))
    };
    match kind {
        FieldKind::Text { min, max, .. } => {
            let length = written.chars().count() as u64;
            match (min.filter(|it| length < *it), max.filter(|it| length > *it)) {
                (Some(min), _) => Err(format!("At least {min} characters are needed.")),
                (None, Some(max)) => Err(format!("At most {max} characters are taken.")),
                (None, None) => Ok(text(written)),
            }
        }
        FieldKind::Number { whole, .. } => {
            // The very digits are sent.
            let number = serde_json::from_str::<serde_json::Number>(written);
            match number {
                Ok(number) if !whole || number.is_i64() || number.is_u64() => Ok(written.to_owned()),
                Ok(_) | Err(_) if *whole => Err("This is no whole number.".to_owned()),
                Ok(_) | Err(_) => Err("This is no number.".to_owned()),
            }
        }
        FieldKind::Switch => match written.to_lowercase().as_str() {
            "y" | "yes" | "true" => Ok("true".to_owned()),
            "n" | "no" | "false" => Ok("false".to_owned()),
            _ => Err("Write y or n.".to_owned()),
        },
        FieldKind::One(choices) => choose(choices, written),
        FieldKind::Many(choices) => {
            let chosen: Vec<String> =
                written.split(',').map(|it| choose(choices, it)).collect::<Result<_, _>>()?;
            Ok(format!("[{}]", chosen.join(",")))
        }
    }
}

/// A line without its end; none when the input has ended.
fn line(input: &mut impl BufRead) -> Option<String> {
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    fn choice(value: &str) -> Choice {
        Choice { value: value.to_owned(), title: value.to_uppercase() }
    }

    fn field(name: &str, required: bool, kind: FieldKind) -> Field {
        Field {
            name: name.to_owned(),
            title: name.to_owned(),
            description: None,
            required,
            kind,
            default: None,
        }
    }

    fn check(asked: Asked, written: &str, expected: Expect) {
        let question = QuestionRecord {
            id: "q".to_owned(),
            server_id: "s".to_owned(),
            server_name: "Weather\u{1b}[2J".to_owned(),
            asked,
        };
        let mut said = String::new();
        let answer = answer(&question, &mut written.as_bytes(), &mut |it| said.push_str(it));
        expected.assert_eq(&format!("{said}\n{answer:?}\n"));
    }

    fn every_kind() -> Asked {
        let fields = vec![
            Field {
                description: Some("As on the map".to_owned()),
                ..field("region", true, FieldKind::Text { format: None, min: None, max: Some(3) })
            },
            field("days", false, FieldKind::Number { whole: true, min: None, max: None }),
            Field { default: Some(true.into()), ..field("alerts", false, FieldKind::Switch) },
            field("unit", true, FieldKind::One(vec![choice("c"), choice("f")])),
            field("of", false, FieldKind::Many(vec![choice("rain"), choice("wind")])),
        ];
        Asked::Form { message: "Which region?".to_owned(), fields }
    }

    #[test]
    fn a_form_is_asked_field_by_field_until_it_is_whole() {
        check(
            every_kind(),
            "\neurope\neu\n1.5\n2574604874062343519\n\n3\n2\n1, 2\n\n",
            expect![[r#"

                Weather�[2J asks; not Usher, and not the model. Never give it a password or a key.
                Which region?
                  As on the map
                region: This is needed.
                region: At most 3 characters are taken.
                region: days, a whole number (not needed): This is no whole number.
                days, a whole number (not needed): alerts, y or n [true]:   1) C
                  2) F
                unit, one of these numbers: There is no "3" to choose.
                unit, one of these numbers:   1) RAIN
                  2) WIND
                of, any of these numbers with commas between (not needed): Send this to Weather�[2J? [Y]es, [d]ecline: 
                Accept(Some("{\"region\":\"eu\",\"days\":2574604874062343519,\"alerts\":true,\"unit\":\"f\",\"of\":[\"rain\",\"wind\"]}"))
            "#]],
        );
    }

    #[test]
    fn the_end_of_the_input_goes_away_and_a_no_declines() {
        let form = |written: &str| {
            let question = QuestionRecord {
                id: "q".to_owned(),
                server_id: "s".to_owned(),
                server_name: "W".to_owned(),
                asked: every_kind(),
            };
            answer(&question, &mut written.as_bytes(), &mut |_| {})
        };
        assert_eq!(form("eu\n"), QuestionAnswer::Cancel);
        assert_eq!(form("eu\n\n\n1\n\nd\n"), QuestionAnswer::Decline);
    }

    #[test]
    fn an_address_is_shown_whole_before_anybody_agrees() {
        let asked = Asked::Url {
            message: "Sign in".to_owned(),
            url: "https://example.com.evil.test/in".to_owned(),
            host: "example.com.evil.test".to_owned(),
        };
        check(
            asked,
            "y\n",
            expect![[r#"

            Weather�[2J asks you to visit an address, which nobody has checked.
            Sign in
              https://example.com.evil.test/in
              at example.com.evil.test
            Usher opens it in your browser if you say yes. Open it? [y]es, [N]o: 
            Accept(None)
        "#]],
        );
    }
}
