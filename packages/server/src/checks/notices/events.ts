import type { Found } from './reconcile.ts';

/** An export job that has ended. */
export type EndedExport = {
  readonly id: string;
  readonly tenant: string;
  readonly state: 'completed' | 'failed';
  readonly file_name: string;
  /** RFC 3339. */
  readonly finished_at: string | null;
  /** Why it failed, in a sentence. */
  readonly error: string | null;
};

const once = { ref: '', holdSeconds: 0, isRepeated: false } as const;

/** The end of an export job in words. */
export function describeExport(job: EndedExport): Found {
  const { id, tenant, state, file_name: name, finished_at: since, error } = job;
  const isDone = state === 'completed';
  return {
    ...{ ...once, subject: id, tenant, since, place: `#/exports?panel=export/${id}` },
    kind: isDone ? 'export_done' : 'export_failed',
    severity: isDone ? 'info' : 'warning',
    title: `The export ${name} of ${tenant} ${isDone ? 'is done' : 'failed'}`,
    advice: isDone
      ? `Fetch it: svcctl exports get ${id}.`
      : `${error ?? 'See why'}: svcctl exports show ${id}.`,
  };
}

/** How far the audit log is, in words: whoever keeps the message can prove later that nothing before it was changed. */
export function describeAuditHead(head: string): Found {
  return {
    ...{ ...once, kind: 'audit_head', severity: 'info', subject: head, tenant: null, since: null },
    title: `The audit log ends at ${head}`,
    advice: `Keep this message. That nothing before it has changed since is proved by: svcctl audit verify --head ${head}.`,
    place: '#/access?view=audit',
  };
}
