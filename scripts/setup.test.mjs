import { expect, test } from 'vitest';
import { assertNode } from './setup.mjs';

test.each(['20.19.0', '20.20.2', '22.0.0', '100.1.0'])('Node %s is new enough', (version) => {
  expect(() => assertNode(version)).not.toThrow();
});

test.each(['20.18.9', '18.20.0', '9.99.0'])(
  'Node %s is refused with the version needed',
  (version) => {
    expect(() => assertNode(version)).toThrow(`20.19 or newer; this is Node ${version}`);
  },
);
