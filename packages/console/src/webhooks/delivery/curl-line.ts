import { shellLine } from '../../records/shell-line.ts';

type Sent = { target: string; idempotency_key: string; body: string };

/**
 * The delivery as a command line. Without its signature: that takes the secret of the endpoint, which is
 * nowhere to be read.
 */
export function curlLine({ target, idempotency_key, body }: Sent): string {
  const headers = ['content-type: application/json', `webhook-id: ${idempotency_key}`];
  return shellLine([
    'curl',
    '-sS',
    '-i',
    '-X',
    'POST',
    ...headers.flatMap((header) => ['-H', header]),
    '--data-raw',
    body,
    target,
  ]);
}
