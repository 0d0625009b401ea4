import { numberOf } from '../kernel/values.ts';
import type { WebhooksOverview } from '../webhooks/contract.ts';
import { type EndpointTrouble, endpointHealths } from '../webhooks/values.ts';
import {
  type Check,
  ifAny,
  type Problem,
  type ToldCheck,
  type TroubledEndpoint,
  type WebhookTroubles,
} from './check.ts';
import { isNobodyTold } from './notices/queries.ts';
import { countStuckLeases } from './queries.ts';

/** A check of endpoints: of each one that is named, and how many more there are. */
function ofEndpoints(
  state: EndpointTrouble,
  {
    text,
    ...own
  }: Pick<ToldCheck, 'holdSeconds' | 'isRepeated' | 'well' | 'remedy'> & {
    text: (endpoint: TroubledEndpoint & { host: string }) => string;
    many: (count: number) => string;
    command: (id: string) => string;
    /** What lists all of them; left out where the list of endpoints tells of this by itself. */
    listing?: string;
  },
): ToldCheck {
  const isHealth = endpointHealths.some((health) => health === state);
  return {
    ...own,
    name: `endpoints_${state}`,
    // What is only to come, or may be meant, is told by notices alone.
    row: ['disabling', 'unpolled', 'blocked'].includes(state) ? null : 'troubles',
    severity: 'warning',
    async look({ webhooks }) {
      const { endpoints, named } = await webhooks();
      const told = named
        .filter((each) => each.state === state)
        .map(
          (each): Problem => ({
            // One that is polled has no host.
            text: text({ ...each, host: new URL(each.url).host || each.id }),
            id: each.id,
            tenant: each.tenant,
            since: each.since ?? null,
          }),
        );
      const others = Math.max(0, (endpoints[state] ?? 0) - told.length);
      const more = told.length > 0 ? ' more' : '';
      return [...told, ...ifAny(others, `${own.many(others)}${more}`)];
    },
    command: (id) =>
      id === undefined
        ? (own.listing ?? `svcctl endpoints ls${isHealth ? ` --health ${state}` : ''}`)
        : own.command(id),
    place: (id) =>
      id === undefined
        ? `#/endpoints${isHealth ? `?health=${state}` : ''}`
        : `#/endpoints?${isHealth ? `health=${state}&` : ''}panel=endpoint/${id}`,
  };
}

/** Whether webhooks arrive, and who else is told. */
export const webhookChecks: readonly (Check | ToldCheck)[] = [
  ofEndpoints('failing', {
    // It has failed for an hour when people are told.
    holdSeconds: 0,
    text: ({ tenant, host }) => `webhooks of ${tenant} to ${host} keep failing`,
    many: (count) => `${numberOf(count, 'endpoint')} failing`,
    well: 'no endpoint is paused after failures',
    remedy:
      'What is not delivered is tried again by its schedule. Its last error says why it fails.',
    command: (id) => `svcctl endpoints show ${id}`,
  }),
  ofEndpoints('gone', {
    holdSeconds: 0,
    // Somebody has to decide, but nothing gets worse.
    isRepeated: false,
    text: ({ tenant, host }) =>
      `the endpoint ${host} of ${tenant} was disabled, because it answered 410 Gone`,
    many: (count) => `${numberOf(count, 'endpoint')} gone (410)`,
    well: 'no endpoint is gone',
    remedy: 'What comes for it waits. Ask its owner for another URL and enable it, or delete it.',
    command: (id) => `svcctl endpoints show ${id}`,
  }),
  ofEndpoints('disabling', {
    holdSeconds: 3600,
    text: ({ tenant, host, until }) =>
      `the endpoint ${host} of ${tenant} will be disabled after days of failures${until ? `, not before ${until.slice(0, 16).replace('T', ' ')} UTC` : ''}`,
    many: (count) => `${numberOf(count, 'endpoint')} will be disabled after days of failures`,
    well: 'no endpoint is about to be disabled',
    remedy: 'What comes for it then waits. One success prevents it, or this command.',
    command: (id) => `svcctl endpoints change ${id} --disable-after default`,
  }),
  ofEndpoints('disabled', {
    holdSeconds: 0,
    isRepeated: false,
    text: ({ tenant, host }) =>
      `the endpoint ${host} of ${tenant} was disabled after days of failures`,
    many: (count) => `${numberOf(count, 'endpoint')} disabled after days of failures`,
    well: 'no endpoint was disabled after failures',
    remedy: 'What comes for it waits. Enable it when its receiver works.',
    command: (id) => `svcctl endpoints enable ${id}`,
  }),
  ofEndpoints('held', {
    // Whoever has disabled it knows it; a day later it may be forgotten.
    holdSeconds: 86_400,
    isRepeated: false,
    text: ({ tenant, host }) =>
      `deliveries wait for the endpoint ${host} of ${tenant}, which was disabled by hand`,
    many: (count) => `${numberOf(count, 'endpoint')} disabled by hand, with a backlog`,
    well: 'no backlog waits for an endpoint that was disabled by hand',
    remedy: 'Enabling it delivers them; with --discard-backlog they are discarded.',
    command: (id) => `svcctl endpoints enable ${id}`,
  }),
  ofEndpoints('full', {
    holdSeconds: 0,
    text: ({ tenant, host, until }) =>
      until
        ? `incidents were held back from the endpoint ${host} of ${tenant}, and were not replayed yet`
        : `so much waits of ${tenant} that incidents are held back from its endpoint ${host}`,
    many: (count) => `${numberOf(count, 'endpoint')} from which incidents were held back`,
    well: 'no incident is held back from an endpoint',
    remedy:
      'They are stored. Let what waits be delivered, or discard it (svcctl endpoints enable --discard-backlog); then replay what the endpoint has missed, while SVC_DELIVERY_DAYS keep it.',
    command: (id) => `svcctl endpoints show ${id}`,
  }),
  ofEndpoints('certificate', {
    holdSeconds: 0,
    isRepeated: false,
    text: ({ tenant, host, until }) =>
      `a certificate of the endpoint ${host} of ${tenant} ends on ${until?.slice(0, 10)}`,
    many: (count) => `${numberOf(count, 'endpoint')} with a certificate that ends within 30 days`,
    well: 'no certificate of an endpoint ends within 30 days',
    remedy: 'From then on nothing is delivered. Give it the next one, with its key.',
    command: (id) => `svcctl endpoints change ${id} --client-cert cert.pem --client-key key.pem`,
    listing: 'svcctl endpoints ls --json id,tenant,delivery',
  }),
  ofEndpoints('unpolled', {
    // Nobody has polled for an hour when people are told.
    holdSeconds: 0,
    text: ({ tenant, id, since }) =>
      `nobody has fetched what waits for the endpoint ${id} of ${tenant}${since ? ` since ${since.slice(0, 16).replace('T', ' ')} UTC` : ''}`,
    many: (count) => `${numberOf(count, 'endpoint')} that nobody polls, with a backlog`,
    well: 'whoever has deliveries to fetch fetches them',
    remedy:
      'They wait for it. Ask its owner whether its receiver runs, and has a token that holds.',
    command: (id) => `svcctl endpoints show ${id}`,
  }),
  ofEndpoints('blocked', {
    // It has been given up for an hour when people are told.
    holdSeconds: 0,
    text: ({ tenant, host, key }) =>
      `webhooks of ${tenant} to ${host} wait behind one of ${JSON.stringify(key?.slice(0, 80))} that was given up`,
    many: (count) => `${numberOf(count, 'endpoint')} with a key that is blocked`,
    well: 'no key of an ordered endpoint is blocked',
    remedy:
      'svcctl endpoints show lists the blocked keys. Retry what was given up (svcctl dlq retry), or skip it: the next goes, and it stays a dead letter.',
    command: (id) => `svcctl endpoints skip ${id} --key KEY`,
  }),
  {
    name: 'deliveries_abandoned',
    row: 'troubles',
    severity: 'warning',
    holdSeconds: 300,
    async look({ webhooks }) {
      const { abandoned: count } = await webhooks();
      return ifAny(count, `${numberOf(count, 'webhook')} abandoned after the last attempt`);
    },
    well: 'no webhook was given up',
    remedy:
      'Nobody sends them again by itself. See why (svcctl dlq groups), and retry them when their receivers work.',
    command: () => 'svcctl dlq retry --all --status abandoned',
    place: () => '#/dlq?status=abandoned',
  },
  {
    name: 'dead_letters_expiring',
    // What is only to come is told by notices alone.
    row: null,
    severity: 'warning',
    holdSeconds: 0,
    async look({ purgedSoon }) {
      const count = await purgedSoon();
      return ifAny(count, `${numberOf(count, 'abandoned webhook')} will be purged within a day`);
    },
    well: 'no abandoned webhook is about to be purged',
    remedy:
      'SVC_ABANDONED_DAYS says so. Whatever is retried before stays, and so does what belongs to a tenant under legal hold.',
    command: () => 'svcctl dlq retry --all --status abandoned',
    place: () => '#/dlq?status=abandoned',
  },
  {
    name: 'notices_undelivered',
    row: 'troubles',
    severity: 'warning',
    holdSeconds: 0,
    async look({ unreached }) {
      return (await unreached()).map(({ id, kind, address, since }) => ({
        // What follows the host may be a secret.
        text: `notices do not reach ${kind === 'webhook' ? new URL(address).host : address}`,
        id,
        since,
      }));
    },
    many: (count) => `notices do not reach ${numberOf(count, 'target')}`,
    well: 'notices reach their targets',
    remedy: 'They were tried for a day. Mend the target, and try it.',
    command: (id) => (id === undefined ? 'svcctl notify ls' : `svcctl notify test ${id}`),
    place: () => '#/access?view=notices',
  },
  {
    name: 'notices',
    severity: 'warning',
    look: async ({ db, isScraped }) =>
      isScraped() || !(await isNobodyTold(db)) ? [] : [{ text: 'nobody is told of trouble' }],
    well: 'somebody is told of trouble, a Prometheus reads the metrics, or nothing could be in trouble yet',
    remedy:
      'Have a webhook or a mailbox told: ACCESS, NOTICES in the console. A Prometheus that reads /metrics of this process every five minutes or sooner counts as told: its alerts are in docs/operations/alerts.yaml.',
    command: () => 'svcctl notify add --email ADDRESS --severity critical',
    isQuick: true,
  },
  {
    name: 'leases',
    severity: 'critical',
    async look({ db }) {
      const count = await countStuckLeases(db, lookedAt);
      const who = numberOf(count, 'delivery', 'deliveries');
      return ifAny(count, `${who} that wait have a stuck lease`);
    },
    well: 'no delivery has a stuck lease',
    remedy:
      'Look for a drainer that lives. A lease far in the future comes from a clock that was wrong: set leased_until of these deliveries to null.',
    command: () => 'svcctl ps',
  },
];

/** So many of those that wait are looked at. */
const lookedAt = 20_000;

/** What of webhooks is wrong by their overview; null is nothing. */
export function troublesOf(webhooks: WebhooksOverview | null): WebhookTroubles {
  if (webhooks === null) return { abandoned: 0, endpoints: {}, named: [] };
  const named = webhooks.endpoints.flatMap(({ id, tenant, url, ...endpoint }) => {
    const state = stateOf(endpoint);
    return state === null ? [] : [{ id, tenant, url, state }];
  });
  return { abandoned: webhooks.abandoned, endpoints: webhooks, named };
}

function stateOf({
  health,
  disabled_reason: reason,
}: Pick<
  WebhooksOverview['endpoints'][number],
  'health' | 'disabled_reason'
>): EndpointTrouble | null {
  if (health === 'failing' || health === 'gone') return health;
  if (health !== 'disabled') return null;
  return reason === 'failing' ? 'disabled' : 'held';
}
