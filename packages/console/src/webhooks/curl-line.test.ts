import { expect, test } from 'vitest';
import { curlLine } from './delivery-drawer.tsx';

test('a delivery reads as one command, whatever its body holds', () => {
  const sent = {
    target: 'https://a.example/in?x=1',
    idempotency_key: 'msg_1',
    body: `{"a":"it's"}`,
  };
  expect(curlLine(sent)).toBe(
    `curl -sS -i -X POST -H 'content-type: application/json' -H 'webhook-id: msg_1' ` +
      `--data-raw '{"a":"it'\\''s"}' 'https://a.example/in?x=1'`,
  );
});
