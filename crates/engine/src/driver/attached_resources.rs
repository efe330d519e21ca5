//! Server resources that a prompt names as `@SERVER:URI`. They are read before the prompt is queued, and
//! their text follows the prompt. Stopping the agent stops the reading and returns the prompt.

use super::Driver;
use super::commands::send_reply;
use super::job_event::{JobEvent, PromptAwaitingResources};
use super::resource_prompts::PromptWithResources;
use crate::handle::AgentError;

impl Driver {
    /// Starts reading the resources that a prompt names; returns the prompt if there are none.
    pub(super) fn read_resources(
        &mut self,
        held: PromptAwaitingResources,
    ) -> Option<PromptAwaitingResources> {
        let mentions = self.served.resource_mentions(&held.text);
        if mentions.is_empty() {
            return Some(held);
        }
        let reads: Vec<_> = mentions
            .into_iter()
            .filter_map(|mention| Some((self.served.resource(&mention)?, mention)))
            .collect();
        self.resource_prompts.last += 1;
        let number = self.resource_prompts.last;
        let task = self.jobs.spawn(async move {
            let mut blocks = Vec::with_capacity(reads.len());
            for (read, mention) in reads {
                let text = read.await.map_err(|reason| format!("{mention} can't be attached: {reason}"));
                blocks.push(text.map(|text| mention.block(&text)));
            }
            JobEvent::ResourcesAttached { number, blocks }
        });
        self.resource_prompts.reading.push(PromptWithResources { number, held, task });
        None
    }

    /// Queues a prompt with the resources that were read; failures are reported.
    pub(super) fn resources_attached(&mut self, number: u64, blocks: Vec<Result<String, String>>) {
        let reading = &mut self.resource_prompts.reading;
        let Some(at) = reading.iter().position(|prompt| prompt.number == number) else { return };
        let PromptAwaitingResources { text, mut options, reply } = reading.remove(at).held;
        for block in blocks {
            match block {
                Ok(block) if options.attached.is_empty() => options.attached = block,
                Ok(block) => options.attached = format!("{}\n\n{block}", options.attached),
                Err(problem) => self.bus.warn(problem),
            }
        }
        self.queue_prompt(text, options, reply);
    }

    /// Stops reading; returns the prompts to their callers.
    pub(super) fn stop_reading_resources(&mut self) {
        for PromptWithResources { held, task, .. } in self.resource_prompts.reading.drain(..) {
            task.abort();
            let reason = "stopped before its resources were read".to_owned();
            send_reply(held.reply, Err(AgentError::PromptRejected(reason)));
        }
    }
}
