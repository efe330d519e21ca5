//! Tools of servers. They are added to the session's own tools before a run's first request. Between the
//! requests of a run the tools don't change, because planned calls refer to them.

use tiller_core::event::EventKind;
use tiller_provider::ToolChoice;
use tiller_tools::tool::{ServedTool, ToolServersEvent, ToolSource};

use super::Driver;
use crate::turn::{Effect, TurnNumber};

impl Driver {
    pub(super) fn tool_servers_event(&mut self, event: ToolServersEvent) {
        match event {
            ToolServersEvent::Warning(message) => self.bus.warn(message),
            ToolServersEvent::Changed | ToolServersEvent::Listed => self.served.has_changed = true,
            ToolServersEvent::Ready => {
                self.served.is_ready = true;
                self.served.has_changed = true;
            }
        }
        let (prompts, resources) = (self.served.prompts(), self.served.resources());
        if prompts != self.served.known_prompts || resources != self.served.known_resources {
            (self.served.known_prompts, self.served.known_resources) = (prompts, resources);
            self.bus.emit(EventKind::CommandsChanged);
        }
        if !self.turn.is_running() {
            self.update_served_tools();
        }
        let is_ready = self.served.is_ready;
        if let Some((turn, tool_choice)) = self.served.waiting_request.take_if(|_| is_ready) {
            // The turn is checked when the effect is performed.
            self.enqueue(vec![Effect::Request { turn, tool_choice }]);
            self.perform();
        }
    }

    /// Delays a request until the servers have started; returns true if it waits.
    pub(super) fn wait_for_servers(&mut self, turn: TurnNumber, tool_choice: ToolChoice) -> bool {
        if !self.served.is_ready {
            self.served.waiting_request = Some((turn, tool_choice));
        }
        !self.served.is_ready
    }

    /// Adopts the servers' current tools. A new tool is offered unless the options exclude it.
    pub(super) fn update_served_tools(&mut self) {
        let window = self.active.model.facts.window;
        let Some(servers) = &self.served.servers else { return };
        if !self.served.has_changed && self.served.window == window {
            return;
        }
        (self.served.has_changed, self.served.window) = (false, window);
        let served = servers.tools(window).into_iter();
        let served = served.map(|ServedTool { tool, server }| (tool, ToolSource::Server(server)));
        let tools = self.served.base.clone().with_others(served);
        self.remember_switched_off();
        let selected = self.services.options.offer.select(&tools);
        let offered = &self.services.offered_tools;
        let kept = offered.names().filter(|name| tools.find(name).is_some());
        let added = selected
            .names()
            .filter(|name| offered.find(name).is_none() && !self.served.switched_off.contains(*name));
        let names: Vec<String> = kept.chain(added).map(str::to_owned).collect();
        self.services.offered_tools = tools.restrict(&names).unwrap_or_default();
        self.services.tools = tools;
    }

    fn remember_switched_off(&mut self) {
        for name in self.services.tools.names() {
            if self.services.offered_tools.find(name).is_some() {
                self.served.switched_off.remove(name);
            } else {
                self.served.switched_off.insert(name.to_owned());
            }
        }
    }
}
