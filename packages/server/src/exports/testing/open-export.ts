import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import type { TestService } from '../../../test/service.ts';

type Asked = { format?: string; headers?: Record<string, string> };

/** Asks a service for an export as its administrator, over a connection that the test can end. */
export function askForExport(
  service: Pick<TestService, 'url' | 'adminToken'>,
  body: object,
  { format = 'csv', headers = {} }: Asked = {},
): ClientRequest {
  const sent = request(`${service.url}/api/v1/exports/${format}`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.adminToken}`,
      'content-type': 'application/json',
      ...headers,
    },
  });
  sent.end(JSON.stringify(body));
  return sent;
}

/** The answer to such a request, of which nothing is read yet. */
export async function openExport(
  ...asked: Parameters<typeof askForExport>
): Promise<IncomingMessage> {
  const [response] = (await once(askForExport(...asked), 'response')) as [IncomingMessage];
  return response;
}
