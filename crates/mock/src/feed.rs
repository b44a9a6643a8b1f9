use crate::core::{Output, Submission};
use crate::engine::{EngineError, FinishReason, RequestId};
use crate::faults::FaultKind;
use crate::shared::Shared;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::time::{Sleep, sleep};

/// The tokens of one request as they come, with its fault. Taking a token is its emission. Dropped before the
/// last token, the request is aborted: that is what a client that goes away does.
#[derive(Debug)]
pub(crate) struct Feed {
    shared: Arc<Shared>,
    id: RequestId,
    outputs: UnboundedReceiver<Output>,
    fault: Option<FaultKind>,
    stall: Option<Pin<Box<Sleep>>>,
    emitted: u32,
    over: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedItem {
    Token {
        index: u32,
        last: Option<FinishReason>,
    },
    /// The engine failed; nothing follows.
    Failed,
    /// The connection must be cut; nothing follows.
    Cut,
}

impl Feed {
    pub(crate) fn open(
        shared: &Arc<Shared>,
        submission: Submission,
        fault: Option<FaultKind>,
    ) -> Result<Self, EngineError> {
        let (id, outputs) = shared.change(|core, now| core.submit(now, submission))?;
        let shared = Arc::clone(shared);
        Ok(Self { shared, id, outputs, fault, stall: None, emitted: 0, over: false })
    }

    pub(crate) async fn next(&mut self) -> FeedItem {
        std::future::poll_fn(|cx| self.poll_next(cx)).await
    }

    pub(crate) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<FeedItem> {
        if self.over {
            return Poll::Ready(FeedItem::Failed);
        }
        ready!(self.poll_stall(cx));
        let Some(output) = ready!(self.outputs.poll_recv(cx)) else {
            return Poll::Ready(self.break_off(FeedItem::Failed));
        };
        match self.fault {
            Some(FaultKind::Cut { after_tokens }) if output.index == after_tokens => {
                return Poll::Ready(self.break_off(FeedItem::Cut));
            }
            Some(FaultKind::ErrorEvent { after_tokens }) if output.index == after_tokens => {
                return Poll::Ready(self.break_off(FeedItem::Failed));
            }
            _ => {}
        }
        let id = self.id;
        self.shared.change(|core, now| core.emitted(now, id, output));
        self.emitted += 1;
        self.over = output.last.is_some();
        Poll::Ready(FeedItem::Token { index: output.index, last: output.last })
    }

    /// Waits out a stall, counted from the token before it.
    fn poll_stall(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if let Some(FaultKind::Stall { after_tokens, pause }) = self.fault
            && after_tokens == self.emitted
        {
            let timer = self.stall.get_or_insert_with(|| Box::pin(sleep(pause)));
            ready!(timer.as_mut().poll(cx));
            self.stall = None;
            self.fault = None;
        }
        Poll::Ready(())
    }

    fn break_off(&mut self, item: FeedItem) -> FeedItem {
        self.give_up(FinishReason::Error);
        item
    }

    fn give_up(&mut self, reason: FinishReason) {
        self.over = true;
        let id = self.id;
        self.shared.change(|core, now| core.give_up(now, id, reason));
    }
}

impl Drop for Feed {
    fn drop(&mut self) {
        if !self.over {
            self.give_up(FinishReason::Abort);
        }
    }
}
