import { expect, test } from 'vitest';
import { countResults } from './test.mjs';

const file = (status, ...tests) => ({
  status,
  assertionResults: tests.map((each) => ({ status: each })),
});

test('passed and failed tests are counted as vitest does', () => {
  const report = {
    numPassedTests: 2,
    numFailedTests: 1,
    testResults: [file('passed', 'passed'), file('failed', 'passed', 'failed')],
  };
  expect(countResults(report)).toEqual({ passed: 2, failed: 1 });
});

test('a file that failed without a failed test counts as one', () => {
  const report = {
    numPassedTests: 1,
    numFailedTests: 0,
    testResults: [file('failed'), file('failed', 'skipped'), file('passed', 'passed')],
  };
  expect(countResults(report)).toEqual({ passed: 1, failed: 2 });
});
