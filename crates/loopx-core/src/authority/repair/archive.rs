//! Owns the file in which a repair keeps what it takes out: a line of JSON for each thing, as it lay.
//!
//! First the repair itself; then of each chain its end and its flaw, its rows column by column, the noted end of the own one, its events from the
//! first that is not kept on, and the receipts of what is cut; last how many lines there are before it. Put back in
//! their places they are what was there before.

use std::{io::Write, path::Path};

use serde_json::{Value, json};

use super::{
    super::{Asked, View, audit::Chain, hex, profile::file},
    Plan, STEP, is_cut,
};
use crate::{
    error::Result,
    model::{OperationId, json_value},
};

/// The form of the file.
const SCHEMA: &str = "loopx_repair_archive_v1";

/// What is written into the file.
pub(super) struct Archive<'a> {
    pub(super) view: &'a mut dyn View,
    pub(super) plan: &'a Plan,
    pub(super) asked: &'a Asked,
}

impl Archive<'_> {
    /// Writes it, durably; one that a crash left behind is replaced.
    pub(super) fn write(&mut self, path: &Path) -> Result<()> {
        file::replace_with(path, &mut |out| self.lines(path, out))
    }

    fn lines(&mut self, path: &Path, out: &mut dyn Write) -> Result<()> {
        let mut count: u64 = 0;
        let mut line = |value: &Value| -> Result<()> {
            count += 1;
            serde_json::to_writer(&mut *out, value)
                .map_err(std::io::Error::from)
                .and_then(|()| out.write_all(b"\n"))
                .map_err(|e| file::unwritable(path, &e))
        };
        let Self { view, plan, asked } = self;
        line(&json!({"schema_version": SCHEMA, "repair": {
            "authority_id": plan.meta.authority_id, "incarnation": plan.meta.incarnation,
            "operation_id": asked.operation_id, "actor": asked.actor,
        }}))?;
        for mended in &plan.mended {
            let goal = mended.cut.goal_id.as_ref();
            line(&json!({"chain": mended}))?;
            match goal {
                Some(goal) => {
                    view.raw(goal, &mut |place, row| line(&json!({"row": {"of": place, "columns": row}})))?;
                }
                None => line(&json!({"own_head": view.own_head()?}))?,
            }
            let chain = goal.map_or(Chain::Own, Chain::Goal);
            let mut after = mended.cut.kept;
            loop {
                let records = chain.records(*view, after, STEP)?;
                let Some(last) = records.last() else { break };
                after = last.seq;
                for record in records {
                    let payload = match std::str::from_utf8(&record.payload) {
                        Ok(text) => json!(text),
                        Err(_) => json!({"hex": hex(&record.payload)}),
                    };
                    line(&json!({"event": {
                        "goal_id": goal, "seq": record.seq, "payload": payload, "hash": record.hash,
                    }}))?;
                }
            }
        }
        let kept = plan.kept();
        let mut after: Option<OperationId> = None;
        loop {
            let page = view.receipts(after.as_ref(), STEP)?;
            let Some((last, _)) = page.last() else { break };
            after = Some(last.clone());
            for (id, receipt) in page {
                let Some(receipt) = receipt.filter(|receipt| is_cut(receipt, &kept)) else { continue };
                line(&json!({"receipt": {"operation_id": id, "body": json_value(&receipt)?}}))?;
            }
        }
        let lines = json!({"end": {"lines": count}});
        serde_json::to_writer(&mut *out, &lines)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"))
            .map_err(|e| file::unwritable(path, &e))
    }
}
