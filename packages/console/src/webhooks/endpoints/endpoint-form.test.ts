import { expect, test } from 'vitest';
import { toChange, toNewEndpoint, toTrial, valuesOf } from './endpoint-form.tsx';

const filled = {
  ...valuesOf(undefined, 'TX'),
  url: ' https://a.example/in ',
  event_types: 'incident.created, incident.resolved',
  retry_schedule: '5, 300',
};

test('what is empty in the form is left to the service', () => {
  expect(toNewEndpoint(filled)).toEqual({
    tenant: 'TX',
    url: 'https://a.example/in',
    event_types: ['incident.created', 'incident.resolved'],
    retry_schedule: [5, 300],
    ordered: 'none',
    when_stuck: 'block',
  });
});

test('an endpoint that is polled has no URL, nor anything that tells how to send', () => {
  const typed = { ...filled, type: 'pull', rate_limit: '3', headers: 'A: b', timeout_seconds: '5' };
  expect(toNewEndpoint({ ...typed, expires_after_seconds: '60' })).toEqual({
    tenant: 'TX',
    type: 'pull',
    event_types: ['incident.created', 'incident.resolved'],
    delivery: { expires_after_seconds: 60 },
    ordered: 'none',
    when_stuck: 'block',
  });
  expect(toChange(typed, { ...typed, name: 'SOC' })).toEqual({ name: 'SOC' });
});

test('a uid and labels are set, changed and taken away', () => {
  const named = { ...filled, uid: ' shop ', labels: 'team=soc\n\ntier = a=b\n' };
  const labels = { team: 'soc', tier: 'a=b' };
  expect(toNewEndpoint(named)).toMatchObject({ uid: 'shop', labels });
  expect(toChange(filled, named)).toEqual({ uid: 'shop', labels });
  expect(toChange(named, { ...named, uid: '', labels: '' })).toEqual({ uid: null, labels: {} });
});

test('a change holds only what differs, and null where a default comes back', () => {
  expect(toChange(filled, { ...filled, retry_schedule: '', rate_limit: '10' })).toEqual({
    retry_schedule: null,
    rate_limit: 10,
  });
  expect(toChange(filled, { ...filled, url: 'https://a.example/in' })).toEqual({});
});

test('how it is sent is a part of its own, of which only what differs is sent', () => {
  const sent = { ...filled, timeout_seconds: '5', no_retry_on: '400, 422' };
  expect(toNewEndpoint(sent).delivery).toEqual({ timeout_seconds: 5, no_retry_on: [400, 422] });
  expect(toNewEndpoint(filled)).not.toHaveProperty('delivery');
  expect(toChange(sent, { ...sent, no_retry_on: '', max_in_flight: '2' })).toEqual({
    delivery: { no_retry_on: null, max_in_flight: 2 },
  });
});

test('a signature in another form is one text; what its key was stays when nothing is typed', () => {
  const signature = 'X-Sig: t={timestamp},v1={hex}';
  const signed = { ...filled, signature, asymmetric: 'yes' };
  const parsed = { header: 'X-Sig', value: 't={timestamp},v1={hex}' };
  expect(toNewEndpoint(signed).delivery).toEqual({ signature: parsed, asymmetric: true });
  expect(toChange(signed, { ...signed, signature_secret: 'a-new-text' })).toEqual({
    delivery: { signature: { ...parsed, secret: 'a-new-text' } },
  });
  expect(toChange(signed, { ...signed, signature: '', asymmetric: 'no' })).toEqual({
    delivery: { signature: null, asymmetric: null },
  });
  expect(toChange(signed, { ...signed, asymmetric: 'replace it' })).toEqual({
    delivery: { asymmetric: 'new' },
  });
});

test('certificates are sent as they are pasted, and a dash takes one away with its key', () => {
  const pasted = { ...filled, certificate: ' CERT \n', key: 'KEY' };
  expect(toNewEndpoint(pasted).delivery).toEqual({ tls: { certificate: 'CERT', key: 'KEY' } });
  expect(toChange(filled, { ...filled, certificate: '-', ca: 'CA' })).toEqual({
    delivery: { tls: { certificate: null, key: null, ca: 'CA' } },
  });
});

test('headers are set, and taken away by a name alone', () => {
  const headers = 'Authorization: Bearer a:b \n\nX-Old:\n';
  expect(toChange(filled, { ...filled, headers })).toEqual({
    headers: { Authorization: 'Bearer a:b', 'X-Old': null },
  });
});

test('what is no number is sent as it was typed, for the service to refuse', () => {
  expect(toNewEndpoint({ ...filled, retry_schedule: 'soon' }).retry_schedule).toEqual(['soon']);
});

test('stores may hold spaces, and a filter that is emptied is taken away', () => {
  const narrowed = { ...filled, stores: 'DFW, New York ,', where: ' score >= 0.9 ' };
  expect(toNewEndpoint(narrowed)).toMatchObject({
    stores: ['DFW', 'New York'],
    where: 'score >= 0.9',
  });
  expect(toChange(narrowed, { ...narrowed, stores: '', where: ' ' })).toEqual({
    stores: null,
    where: null,
  });
});

test('the order is changed by a word', () => {
  expect(toChange(filled, { ...filled, ordered: 'group' })).toEqual({ ordered: 'group' });
});

test('what is tried is what the form says now, of the tenant that it names', () => {
  expect(toTrial({ ...filled, tenant: ' ' })).toBeNull();
  expect(toTrial(filled)).toEqual({
    tenant: 'TX',
    event_types: ['incident.created', 'incident.resolved'],
  });
  expect(toTrial({ ...filled, stores: 'DFW', where: 'a = 1', event_types: '' })).toEqual({
    tenant: 'TX',
    event_types: ['*'],
    stores: ['DFW'],
    where: 'a = 1',
  });
});
