//! The clock of a device of wgpu itself.

use cipherloom_gpu::Error;
use cipherloom_gpu::webgpu::{Context, wgpu};

/// Takes the times at which a pass of a kernel begins and ends, or the first and the last of several.
#[derive(Debug)]
pub struct Clock {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    /// Nanoseconds of a tick.
    tick: f64,
}

impl Clock {
    /// A device's; nothing if it takes no times.
    ///
    /// # Errors
    /// If the driver refuses.
    pub fn of(context: &Context) -> Result<Option<Clock>, Error> {
        if !context.report().timestamps {
            return Ok(None);
        }
        let queries = context.device().create_query_set(&wgpu::QuerySetDescriptor {
            label: None,
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        });
        let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let resolved = context.buffer(16, usage)?;
        Ok(Some(Clock { queries, resolved, tick: f64::from(context.queue().get_timestamp_period()) }))
    }

    /// What a pass is told: the first notes its begin, the last its end.
    #[must_use]
    pub fn writes(&self, is_first: bool, is_last: bool) -> Option<wgpu::ComputePassTimestampWrites<'_>> {
        (is_first || is_last).then_some(wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: is_first.then_some(0),
            end_of_pass_write_index: is_last.then_some(1),
        })
    }

    /// Nanoseconds from the begin to the end that were noted last.
    ///
    /// # Errors
    /// If the device failed.
    pub fn read(&self, context: &Context) -> Result<f64, Error> {
        context.submit(|encoder| encoder.resolve_query_set(&self.queries, 0..2, &self.resolved, 0))?;
        let read = context.read(&self.resolved)?;
        let (times, _) = read.as_chunks();
        let [begin, end] = [0, 1].map(|index| u64::from_le_bytes(times[index]));
        Ok(end.saturating_sub(begin) as f64 * self.tick)
    }
}
