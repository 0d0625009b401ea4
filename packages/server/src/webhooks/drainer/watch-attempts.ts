import type { Log } from '../../platform/log.ts';
import { type Traces, traceIdOf } from '../../platform/traces.ts';
import type { ClaimedRow } from '../claim.ts';
import type { AttemptResult } from '../delivery/sender.ts';

/** Is called when an attempt begins; what it returns is called once, when that has ended. */
export type WatchAttempt = (row: ClaimedRow, target: string) => (result: AttemptResult) => void;

/**
 * Tells of attempts: each as a span in the trace of the request that reported its incident; each that counts, to
 * `observe` for the metrics and in the log.
 */
export function watchAttempts({
  log,
  traces,
  observe,
}: {
  log: Log;
  traces: Traces | null;
  observe: (result: AttemptResult) => void;
}): WatchAttempt {
  return (row, target) => {
    const span = traces === null ? null : beginSpan(traces, row, target);
    return (result) => {
      const { status, failureClass, isCut } = result;
      const answer = status === null ? {} : { 'http.response.status_code': status };
      span?.end(answer, isCut ? 'cut' : failureClass);
      if (isCut) return;
      observe(result);
      logAttempt(log, row, result);
    };
  };
}

/** Of the target it names the host alone: paths and queries of webhooks often hold secrets. */
function beginSpan(traces: Traces, row: ClaimedRow, target: string) {
  const url = URL.canParse(target) ? new URL(target) : null;
  return traces.begin('deliver webhook', {
    kind: 'client',
    parent: row.trace_parent,
    attributes: {
      'http.request.method': 'POST',
      'server.address': url?.hostname,
      'server.port': Number(url?.port || (url?.protocol === 'http:' ? 80 : 443)),
      'svcctl.tenant': row.tenant,
      'svcctl.endpoint_id': row.endpoint_id,
      'svcctl.incident_id': row.incident_id,
      'svcctl.delivery_id': row.id,
      'svcctl.attempt': row.attempts + 1,
      'svcctl.queue.wait_ms': Math.round(row.waited_ms),
      'svcctl.request_id': row.request_id ?? undefined,
    },
  });
}

/**
 * Says which delivery was attempted, and for which request: that is how an operator who has the id of the request finds
 * the attempt. What succeeds is only of interest to somebody who looks for it.
 */
function logAttempt(log: Log, row: ClaimedRow, result: AttemptResult): void {
  const { failureClass, status, durationMillis, error } = result;
  const { request_id, trace_parent: parent } = row;
  const ids = {
    ...{ delivery: row.id, incident: row.incident_id, endpoint: row.endpoint_id, request_id },
    ...(parent !== null && { trace_id: traceIdOf(parent) }),
  };
  const attempt = { attempt: row.attempts + 1, status, millis: Math.round(durationMillis) };
  if (failureClass === null) log.debug({ ...ids, ...attempt }, 'delivered');
  else log.info({ ...ids, ...attempt, failure_class: failureClass, error }, 'an attempt failed');
}
