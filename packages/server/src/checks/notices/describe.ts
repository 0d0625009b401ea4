import type { Trouble } from '../contract.ts';
import type { TroubleKind } from '../values.ts';
import type { Found } from './reconcile.ts';

/** What a notice is about, where that has a name of its own. */
export type About = {
  readonly id: string;
  readonly tenant: string | null;
  /** As people know it: the host of an endpoint, the name of a file. */
  readonly name: string;
  /** RFC 3339; null: as of now. */
  readonly since: string | null;
  /** When it will be disabled, RFC 3339. */
  readonly until?: string | null;
};

type Words = Pick<Found, 'title' | 'advice' | 'place'>;

/** A trouble of which there is only one, in words. `id` is that of the run or the verification. */
export function describeTrouble({ kind, count, id }: Trouble): Found {
  const one = { subject: '', ref: id ?? '', tenant: null, since: null };
  return { kind, ...one, ...troubleWords[kind](count, id ?? '') };
}

/** A trouble of an endpoint or of a target, in words. */
export function describeTroubleOf(kind: keyof typeof ownWords, about: About): Found {
  return { kind, ...subjectOf(about), ...ownWords[kind](about) };
}

/** The end of a job in words. */
export function describeEvent(
  kind: keyof typeof eventWords,
  about: About & { reason: string | null },
): Found {
  return { kind, ...subjectOf(about), ...eventWords[kind](about) };
}

/** How far the audit log is, in words: whoever keeps the message can prove later that nothing before it was changed. */
export function describeAuditHead(head: string): Found {
  return {
    ...{ kind: 'audit_head', subject: head, ref: '', tenant: null, since: null },
    title: `The audit log ends at ${head}`,
    advice: `Keep this message. That nothing before it has changed since is proved by: svcctl audit verify --head ${head}.`,
    place: '#/access?view=audit',
  };
}

function subjectOf({ id, tenant, since }: About) {
  return { subject: id, ref: '', tenant, since };
}

const verificationPlace = (id: string) => `#/retention?panel=verification/${id}`;

const troubleWords: Readonly<Record<TroubleKind, (count: number, id: string) => Words>> = {
  verification_differs: (count, id) => ({
    title: `The last verification of cold data found ${countOf(count, 'difference')}`,
    advice: `See which: svcctl retention verify ${id}. Do not erase or move anything before they are understood.`,
    place: verificationPlace(id),
  }),
  store_unusable: () => ({
    title: 'The store of cold data cannot be used',
    advice: 'Cold records cannot be read, and nothing moves. See why: svcctl status, and the log.',
    place: '#/retention',
  }),
  removals_overdue: (count) => ({
    title: `${countOf(count, 'object')} should have been removed from the store`,
    advice:
      'What was deleted or erased may still be in them. See why in the log of the processes with the role retention, and which: svcctl retention verify.',
    place: '#/retention',
  }),
  store_waited_for: (count) => ({
    title: `${count === 1 ? 'A run, verification or export waits' : `${count.toLocaleString('en-US')} runs, verifications or exports wait`} for the store of cold data`,
    advice:
      'They go on by themselves when it answers, and fail after an hour. See why: svcctl retention moves, svcctl exports ls.',
    place: '#/retention',
  }),
  disk_nearly_full: (count) => ({
    title: `${countOf(count, 'disk')} nearly full`,
    advice: 'See which: svcctl ps.',
    place: '#/',
  }),
  backup_overdue: () => ({
    title: 'The last good backup is older than SVC_BACKUP_MAX_AGE_HOURS allows, or there is none',
    advice:
      'Look at what should run svcctl backup. Where something else backs up, say so once: SVC_BACKUP_MAX_AGE_HOURS=0.',
    place: '#/',
  }),
  endpoints_failing: (count) => ({
    title: `${countOf(count, 'endpoint')} failing`,
    advice: 'See which: svcctl endpoints ls.',
    place: '#/endpoints',
  }),
  endpoints_gone: (count) => ({
    title: `${countOf(count, 'endpoint')} gone (410)`,
    advice: 'See which: svcctl endpoints ls.',
    place: '#/endpoints',
  }),
  endpoints_disabled: (count) => ({
    title: `${countOf(count, 'endpoint')} disabled after days of failures`,
    advice: 'See which: svcctl endpoints ls.',
    place: '#/endpoints',
  }),
  endpoints_held: (count) => ({
    title: `${countOf(count, 'endpoint')} disabled by hand, with deliveries that wait`,
    advice: 'See which: svcctl endpoints ls.',
    place: '#/endpoints',
  }),
  deliveries_abandoned: (count) => ({
    title: `${countOf(count, 'webhook')} could not be delivered and have no attempts left`,
    advice:
      'See why: svcctl dlq groups. When their receivers work: svcctl dlq retry --all --status abandoned.',
    place: '#/dlq?status=abandoned',
  }),
  run_failed: (count, id) => ({
    title: `The last retention run failed (${countOf(count, 'move')})`,
    advice: `Nothing is lost: records stay where they were. See why: svcctl retention moves --run ${id}.`,
    place: `#/retention?view=journal&run=${id}`,
  }),
  verification_failed: (_count, id) => ({
    title: 'The last verification of cold data could not be finished',
    advice: `See why: svcctl retention verify ${id}, and the log. Then start another one.`,
    place: verificationPlace(id),
  }),
  notices_undelivered: (count) => ({
    title: `${countOf(count, 'target')} of notices cannot be reached`,
    advice: 'See which: svcctl notify ls.',
    place: '#/access?view=notices',
  }),
};

const endpointPlace = ({ id }: About) => `#/endpoints?panel=endpoint/${id}`;

const ownWords = {
  disk_nearly_full: (about: Pick<About, 'id' | 'name'>): Words => ({
    title: `The disk of ${about.id} has ${about.name} of its room left`,
    advice: 'Make room on the disk with its data folder, before what is written there fails.',
    place: '#/',
  }),
  endpoints_failing: (about: About): Words => ({
    title: `Webhooks of ${about.tenant} to ${about.name} have failed for an hour or longer`,
    advice: `What is not delivered is tried again by its schedule. See why: svcctl endpoints show ${about.id}.`,
    place: endpointPlace(about),
  }),
  endpoints_gone: (about: About): Words => ({
    title: `The endpoint ${about.name} of ${about.tenant} was disabled, because it answered 410 Gone`,
    advice: `What comes for it waits. Ask ${about.tenant} for another URL, or delete it: svcctl endpoints show ${about.id}.`,
    place: endpointPlace(about),
  }),
  endpoints_disabling: (about: About): Words => ({
    title: `The endpoint ${about.name} of ${about.tenant} will be disabled after days of failures${about.until ? `, not before ${about.until.slice(0, 16).replace('T', ' ')} UTC` : ''}`,
    advice: `What comes for it then waits. One success, or svcctl endpoints change ${about.id} --disable-after default, prevents it.`,
    place: endpointPlace(about),
  }),
  endpoints_disabled: (about: About): Words => ({
    title: `The endpoint ${about.name} of ${about.tenant} was disabled after days of failures`,
    advice: `What comes for it waits. When its receiver works: svcctl endpoints enable ${about.id}.`,
    place: endpointPlace(about),
  }),
  endpoints_held: (about: About): Words => ({
    title: `Deliveries wait for the endpoint ${about.name} of ${about.tenant}, which was disabled by hand a day ago or longer`,
    advice: `Enabling it delivers them: svcctl endpoints enable ${about.id}; with --discard-backlog they are discarded.`,
    place: endpointPlace(about),
  }),
  notices_undelivered: (about: About): Words => ({
    title: `Notices do not reach ${about.name}`,
    advice: `They were tried for a day. Mend it and try: svcctl notify test ${about.id}.`,
    place: '#/access?view=notices',
  }),
};

const exportPlace = ({ id }: About) => `#/exports?panel=export/${id}`;

const eventWords = {
  export_done: (about: About): Words => ({
    title: `The export ${about.name} of ${about.tenant} is done`,
    advice: `Fetch it: svcctl exports get ${about.id}.`,
    place: exportPlace(about),
  }),
  export_failed: (about: About & { reason: string | null }): Words => ({
    title: `The export ${about.name} of ${about.tenant} failed`,
    advice: `${about.reason ?? 'See why'}: svcctl exports show ${about.id}.`,
    place: exportPlace(about),
  }),
};

function countOf(count: number, noun: string): string {
  return `${count.toLocaleString('en-US')} ${noun}${count === 1 ? '' : 's'}`;
}
