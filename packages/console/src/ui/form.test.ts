import { expect, test } from 'vitest';
import { ApiError } from '../api/client.ts';
import { faultsOf } from './form.tsx';

const fault = (path: string, message: string) => ({ path, code: 'x', message });
const refused = (fields: object) =>
  new ApiError({ status: 400, code: 'request_invalid', detail: 'Not so.', ...fields });

test('faults stand at their fields, and what has none stands by itself', () => {
  const errors = [
    ...[fault('/url', 'No.'), fault('/types/0', 'One.'), fault('/types/1', 'Two.')],
    fault('/other', 'Else.'),
  ];
  expect(faultsOf(refused({ errors }), ['address', 'types'], { url: 'address' })).toEqual({
    address: 'No.',
    types: 'One. Two.',
    '': 'Else.',
  });
});

test('a URL that may not be sent to stands at its field, and any other refusal by itself', () => {
  const blocked = refused({ code: 'target_blocked' });
  expect(faultsOf(blocked, ['url'])).toEqual({ url: 'Not so.' });
  expect(Object.keys(faultsOf(refused({}), ['url']))).toEqual(['']);
  expect(faultsOf(null, ['url'])).toEqual({});
});
