use serde::Serialize;

/// A request before it is put into the words of an endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedRequest {
    /// Its number in level, repeat and stream, from 0.
    pub id: u64,
    /// The stream that it was drawn from.
    pub phase_stream: Stream,
    /// What is asked.
    pub prompt: Prompt,
    /// Prompt tokens that the server should count, template and system prompt included; absent when that is not
    /// known: prompts from a file, and a system prompt whose length nobody counted.
    pub asked_input_tokens: Option<u32>,
    /// Largest number of tokens to generate.
    pub max_tokens: u32,
}

/// Streams of draws within a level and repeat. Their prompts are disjoint, so that warm-up warms no measured prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Stream {
    /// Warm-up requests.
    Warmup,
    /// Measured and filler requests; the numbers run on from one to the other.
    Load,
}

/// What is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Prompt {
    /// The run's shared system prompt.
    pub system: Option<String>,
    /// The conversation, the last turn not the assistant's.
    pub messages: Vec<Message>,
}

/// One turn of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// `system`, `user`, `assistant`, or whatever a file names.
    pub role: String,
    /// Its text.
    pub content: String,
}

impl Message {
    /// A turn of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self { role: "user".to_owned(), content: content.into() }
    }
}

impl Prompt {
    /// A single turn of the user.
    pub fn user(content: impl Into<String>) -> Self {
        Self { system: None, messages: vec![Message::user(content)] }
    }

    /// All messages in order, the system prompt first: for chat completions.
    pub fn chat(&self) -> impl Iterator<Item = (&str, &str)> {
        let system = self.system.as_deref().map(|text| ("system", text));
        let rest = self.messages.iter().map(|message| (message.role.as_str(), message.content.as_str()));
        system.into_iter().chain(rest)
    }

    /// The texts in order, parted by blank lines: for completions, which know no roles. A single turn without a
    /// system prompt is its bare text.
    pub fn flatten(&self) -> String {
        let texts: Vec<&str> = self.chat().map(|(_, text)| text).collect();
        texts.join("\n\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_turn_flattens_to_its_text_and_a_system_prompt_stands_first() {
        let mut prompt = Prompt::user("What is a fathom?");
        assert_eq!(prompt.flatten(), "What is a fathom?");
        prompt.system = Some("Be brief.".to_owned());
        assert_eq!(prompt.flatten(), "Be brief.\n\nWhat is a fathom?");
        let chat: Vec<_> = prompt.chat().collect();
        assert_eq!(chat, [("system", "Be brief."), ("user", "What is a fathom?")]);
    }
}
