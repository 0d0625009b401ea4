import { expect } from 'vitest';
import type { Answer } from '../../lib/api.ts';
import type { Service } from '../../lib/installation.ts';
import { runRetention } from '../../lib/retention.ts';
import { waitFor } from '../../lib/wait-for.ts';

/** The ids of one thing of each kind, and the idempotency key of the delivery. */
export type EveryKind = Readonly<
  Record<
    | 'delivery'
    | 'key'
    | 'incident'
    | 'endpoint'
    | 'export'
    | 'version'
    | 'tag'
    | 'move'
    | 'run'
    | 'verification'
    | 'retry'
    | 'token',
    string
  >
>;

/** With this setting the service may send to a port of this machine, on which nobody listens. */
export const everyKindSettings = { SVC_ALLOW_TARGETS: '127.0.0.0/8' };

const incident = { tenant: 'TX', type: 'incident.created', data: { n: 1 } };

/** Makes one thing of each kind that has an id, in a service that holds records. */
export async function makeEveryKind(service: Service): Promise<EveryKind> {
  const make = async (path: string, body: object, headers: Record<string, string> = {}) => {
    const answer = await service.call('POST', path, { body, headers });
    expect(answer.status, answer.text).toBeLessThan(300);
    return answer.json;
  };
  const read = async (path: string): Promise<Answer['json']> =>
    (await service.call('GET', path)).json;
  const endpoint = await make('/webhook/endpoints', {
    tenant: 'TX',
    url: 'http://127.0.0.1:9/in',
    max_attempts: 1,
  });
  const reported = await make('/incidents', incident);
  const tag = await make('/enrichment/tags', {
    tenant: 'TX',
    store: 'IAH',
    month: '2001-02',
    dataset: 'training',
  });
  const version = await make('/enrichment/dataset-versions', {
    tenant: 'TX',
    dataset: 'training',
    name: 'spring',
  });
  const job = await make(
    '/exports/csv',
    { tenant: 'TX', store: 'AUS' },
    { prefer: 'respond-async' },
  );
  const token = await make('/tokens', { name: 'night shift', scopes: ['enrichment:read'] });
  await runRetention(service, { tenant: 'CA' });
  const verification = await make('/retention/verify', { tenant: 'CA' });
  await waitFor('the verification and the version', async () => {
    const { state } = await read(`/retention/verify/${verification.id}`);
    const { state: counted } = await read(`/enrichment/dataset-versions/${version.id}`);
    return state === 'completed' && counted === 'ready';
  });
  await waitFor('the dead letter', async () => {
    const { total } = await read('/webhook/dlq?status=abandoned');
    return total === 1;
  });
  const [delivery] = (await read('/webhook/dlq?status=abandoned')).data;
  const [move] = (await read('/retention/moves?limit=1')).data;
  const [run] = (await read('/retention/runs?limit=1')).data;
  // It finds nothing, so that the dead letter stays.
  const retry = await make('/webhook/dlq/retry', { tenant: 'nobody' });
  return {
    delivery: delivery.id,
    key: delivery.idempotency_key,
    incident: reported.id,
    endpoint: endpoint.id,
    export: job.id,
    version: version.id,
    tag: tag.id,
    move: move.id,
    run: run.id,
    verification: verification.id,
    retry: retry.id,
    token: token.id,
  };
}
