import { request } from 'node:http';
import type { TestService } from '../../../../test/service.ts';

/** An event as it came: `name` is `message` for records. */
type TailEvent = { readonly id: string; readonly name: string; readonly data: string };

type OpenTail = {
  readonly status: number;
  readonly requestId: unknown;
  readonly events: readonly TailEvent[];
  /** The id of the last event, or of what came since. */
  lastId(): string;
  /** The event ids of the records that came, in their order. */
  seen(): string[];
  /** Resolves when the service has ended the stream. */
  readonly ended: Promise<void>;
  pause(): void;
  resume(): void;
  close(): void;
};

/** Opens a tail over HTTP and gathers what it tells. */
export function openTail(
  service: Pick<TestService, 'url' | 'adminToken'>,
  query: Record<string, string>,
  options: { token?: string; headers?: Record<string, string> } = {},
): Promise<OpenTail> {
  const { token = service.adminToken, headers = {} } = options;
  const url = `${service.url}/api/v1/enrichment/records/tail?${new URLSearchParams(query).toString()}`;
  return new Promise((resolve, reject) => {
    const call = request(url, { headers: { authorization: `Bearer ${token}`, ...headers } });
    call.on('error', reject).on('response', (answer) => {
      const events: TailEvent[] = [];
      let [rest, id] = ['', ''];
      answer.setEncoding('utf8').on('data', (text: string) => {
        const blocks = (rest + text).split('\n\n');
        rest = blocks.pop() ?? '';
        for (const block of blocks) {
          const of = (field: string) =>
            block
              .split('\n')
              .flatMap((line) =>
                line.startsWith(`${field}: `) ? [line.slice(field.length + 2)] : [],
              );
          id = of('id')[0] ?? id;
          const data = of('data').join('\n');
          if (of('event')[0] !== 'place' && data !== '')
            events.push({ id, name: of('event')[0] ?? 'message', data });
        }
      });
      const ended = new Promise<void>((end) => answer.once('close', end));
      answer.on('error', () => {});
      resolve({
        status: answer.statusCode ?? 0,
        events,
        ended,
        requestId: answer.headers['x-request-id'],
        lastId: () => id,
        seen: () =>
          events.flatMap(({ name, data }) =>
            name === 'message' ? [(JSON.parse(data) as { event_id: string }).event_id] : [],
          ),
        pause: () => answer.pause(),
        resume: () => answer.resume(),
        close: () => answer.destroy(),
      });
    });
    call.end();
  });
}
