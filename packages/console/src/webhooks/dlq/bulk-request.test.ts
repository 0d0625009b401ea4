import { expect, test } from 'vitest';
import { validateDlqSearch } from '../search.ts';
import { groupText, overlaps, requestOf } from './bulk-request.ts';

const tenant = 'TX';

test('a bulk job is asked for with all that names its group, also what only the service may know', () => {
  const group = { status: 'abandoned', endpoint_id: 'ep_1', failure_class: 'dns' } as const;
  expect(requestOf({ tenant, failure: 'tls' }, groupText(group))).toEqual({ ...group, tenant });
  expect(requestOf({}, 'abandoned/ep_1/later_class')).toEqual({
    ...group,
    failure_class: 'later_class',
  });
  expect(requestOf({}, 'later/ep_1/dns')).toEqual({ ...group, status: 'later' });
  // The service refuses an empty word, and takes none for any.
  expect(requestOf({ tenant }, 'abandoned/ep_1')).toEqual({ ...group, tenant, failure_class: '' });
  expect(requestOf({}, 'abandoned//dns')).toEqual({ ...group, endpoint_id: '' });
});

test('a bulk job of all that the filters find keeps a word that only the service may know', () => {
  const search = validateDlqSearch({ tenant, failure: 'dsn', q: 'x', panel: 'purge' });
  expect(requestOf(search, '')).toEqual({ tenant, failure_class: 'dsn' });
  expect(requestOf(validateDlqSearch({ status: 'pending', endpoint: 'e' }), '')).toEqual({
    status: 'pending',
    endpoint_id: 'e',
  });
  expect(requestOf(validateDlqSearch({ status: 'abandonned' }), '')).toEqual({
    status: 'abandonned',
  });
});

test.each([
  [{}, {}, true],
  [{ status: 'abandoned', tenant }, {}, true],
  [{}, { status: 'pending', endpoint_id: 'ep_1' }, true],
  [{ status: 'abandoned' }, { status: 'pending' }, false],
  [{ endpoint_id: 'ep_1', failure_class: 'dns' }, { endpoint_id: 'ep_1' }, true],
  [{ endpoint_id: 'ep_1', failure_class: 'dns' }, { failure_class: 'tls' }, false],
  [{ event_type: 'incident.*' }, { event_type: 'incident.created' }, true],
  [{ event_type: 'incident.created' }, { event_type: 'incident.' }, true],
  [{ event_type: 'incident.created' }, { event_type: 'incident.resolved' }, false],
] as const)('a job of %j has some of what %j asks for: %s', (of, request, isSo) => {
  const any = { status: null, tenant: null, endpoint_id: null, failure_class: null };
  expect(overlaps({ ...any, event_type: null, ...of }, request)).toBe(isSo);
});
