import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { countResults, describeFailures } from './test.mjs';

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

test('each failure is told in a line, and so is a file that could not be loaded', () => {
  const assertion = {
    status: 'failed',
    fullName: 'pages end',
    failureMessages: ['AssertionError: \u001b[31mexpected 1\u001b[0m\n  to be 2\n\n    at there'],
  };
  const testResults = [
    { status: 'passed', name: resolve('a.test.ts'), message: '', assertionResults: [] },
    { status: 'failed', name: resolve('b.test.ts'), message: '', assertionResults: [assertion] },
    { status: 'failed', name: resolve('c.test.ts'), message: 'No such file', assertionResults: [] },
  ];
  expect(describeFailures({ testResults })).toEqual([
    'failed: b.test.ts > pages end: AssertionError: expected 1   to be 2 ',
    'failed: c.test.ts: No such file',
  ]);
});
