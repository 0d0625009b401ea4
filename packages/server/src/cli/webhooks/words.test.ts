import { expect, test } from 'vitest';
import * as contract from '../../webhooks/contract.ts';
import * as words from './dead-letter-options.ts';

test('the command line knows the statuses and classes of the contract', () => {
  expect(words.deliveryStatuses).toEqual(contract.deliveryStatuses);
  expect(words.deadLetterStatuses).toEqual(contract.deadLetterStatuses);
  expect(words.failureClasses).toEqual(contract.failureClasses);
});
