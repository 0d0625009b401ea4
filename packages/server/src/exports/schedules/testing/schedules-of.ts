import { expect, vi } from 'vitest';
import type { TestService } from '../../../../test/service.ts';

/** What tests do with the schedules of a service. */
export function schedulesOf(service: () => TestService) {
  const pathOf = (id: string) => `/exports/schedules/${id}`;
  const read = async (id: string) => (await service().call('GET', pathOf(id))).json;
  const begin = (id: string) => service().call('POST', `${pathOf(id)}/run`);
  /** Asks for a schedule; what is left out is a night, and NDJSON. */
  const ask = (body: object) =>
    service().call('POST', '/exports/schedules', {
      body: { cron: '0 2 * * *', format: 'ndjson', ...body },
    });
  /** The last run, once it is delivered or has failed, other than the one called `before`. */
  const ended = (id: string, before?: string) =>
    vi.waitUntil(
      async () => {
        const { last_run: last } = await read(id);
        const hasEnded = last?.state === 'failed' || last?.delivered_at;
        return hasEnded && last.id !== before && last;
      },
      { timeout: 60_000, interval: 50 },
    );
  const make = async (body: object) => {
    const answer = await ask(body);
    expect(answer.status, answer.text).toBe(201);
    return answer.json;
  };
  const change = (id: string, body: object) => service().call('PATCH', pathOf(id), { body });
  /** Has a schedule run now, and returns the run once it has ended. */
  const run = async (id: string) => {
    const before = (await read(id)).last_run?.id;
    await begin(id);
    return ended(id, before);
  };
  /** Stores records of a day with these ids. */
  const store = async (tenant: string, ids: readonly string[]) => {
    const records = ids.map((event_id) => ({
      tenant,
      store: 'A',
      event_id,
      occurred_at: '2001-03-01T00:00:00Z',
      enrichment: {},
    }));
    const { json } = await service().call('POST', '/enrichment/records', { body: { records } });
    expect(json.accepted).toBe(ids.length);
  };
  return { read, begin, ask, ended, make, change, run, store };
}
