import pino from 'pino';
import { expect, test } from 'vitest';
import { answer, useReceiver } from '../../../test/receiver.ts';
import { useTestService } from '../../../test/service.ts';

const patient = { timeout: 120_000 };
const lines: Record<string, unknown>[] = [];
const log = pino({ level: 'debug' }, { write: (line) => void lines.push(JSON.parse(line)) });
const receiver = useReceiver();
const service = useTestService({ SVC_ALLOW_TARGETS: '127.0.0.0/8' }, log);

test('the id of the request that reported an incident leads to its attempts, in the log and in the API', async () => {
  receiver.behave(({ number }) => answer(number === 1 ? 500 : 204));
  const endpoint = { tenant: 'T', url: receiver.url(), event_types: ['*'] };
  await service.call('POST', '/webhook/endpoints', { body: endpoint });
  const reported = await service.call('POST', '/incidents', {
    body: { tenant: 'T', type: 'incident.created', data: {} },
  });
  const requestId = reported.headers.get('x-request-id');
  expect(requestId).toMatch(/^req_/);
  const [delivery] = reported.json.deliveries;
  const attempts = () => lines.filter((line) => line.request_id === requestId);
  await expect
    .poll(attempts, patient)
    .toMatchObject([
      {
        msg: 'an attempt failed',
        delivery: delivery.id,
        incident: reported.json.id,
        endpoint: delivery.endpoint_id,
        attempt: 1,
        status: 500,
        failure_class: 'status',
      },
    ]);
  const shown = async () => (await service.call('GET', `/webhook/dlq/${delivery.id}`)).json;
  await expect.poll(async () => (await shown()).status, patient).toBe('pending');
  expect((await shown()).request_id).toBe(requestId);
  const incident = await service.call('GET', `/incidents/${reported.json.id}`);
  expect(incident.json.request_id).toBe(requestId);
  // This time the delivery is claimed, not sent by the process that stored it.
  await service.call('POST', `/webhook/dlq/${delivery.id}/retry`);
  await expect
    .poll(attempts, patient)
    .toMatchObject([
      { attempt: 1 },
      { msg: 'delivered', delivery: delivery.id, attempt: 2, status: 204 },
    ]);
});
