import { makeReport } from '../lib/report.mjs';

/** What must be nothing. */
const violations = [
  ['jobs that failed, or were cancelled by nobody', 'failed'],
  ['files with another SHA-256, digest or row count than an undisturbed export', 'otherFiles'],
  ['downloads with another SHA-256 than their job', 'otherDownloads'],
  ['objects left behind by cancelled and removed exports', 'strayObjects'],
  ['streams that went on for 30 s after their token was revoked', 'outlived'],
  ['exports of revoked tokens that look whole', 'looksWhole'],
  ['ingests of revoked tokens that had stored other than they said', 'wrongAnswers'],
];

const facts = [
  ['kill -9 of the service', 'service'],
  ['kill -9 of PostgreSQL', 'postgres'],
  ['of these, while a job had some of its parts', 'midway'],
  ['export jobs asked for', 'jobs'],
  ['completed', 'completed'],
  ['of all, taken up again after a kill', 'resumed'],
  ['cancelled', 'cancelled'],
  ['records stored meanwhile on days that were being exported', 'late'],
  ['runs of retention meanwhile', 'runs'],
  ['streams whose token was revoked meanwhile: ingests and exports', 'revoked'],
  ['requests refused or broken off meanwhile, and sent again', 'refused'],
];

export const { reportTable, isKept } = makeReport({ facts, violations });
