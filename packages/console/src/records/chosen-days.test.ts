import { expect, it } from 'vitest';
import { chosenDays } from './search.ts';

const facts = { first_at: '2000-11-07T00:00:00.000000Z', last_at: '2001-04-19T18:50:00.000000Z' };
const leaf = { tenant: 'TX', store: 'DFW', month: '2001-02' };

it('is no range while no day is chosen', () => {
  expect(chosenDays(leaf, facts)).toBeNull();
});

it('is what is chosen', () => {
  expect(chosenDays({ ...leaf, from: '2001-02-03', to: '2001-02-05' }, null)).toEqual({
    from: '2001-02-03',
    to: '2001-02-05',
  });
});

it('ends, where it is open, with the month or with the records of the node', () => {
  expect(chosenDays({ ...leaf, from: '2001-02-03' }, facts)?.to).toBe('2001-02-28');
  expect(chosenDays({ ...leaf, to: '2001-02-03' }, facts)?.from).toBe('2001-02-01');
  expect(chosenDays({ tenant: 'TX', from: '2001-02-03' }, facts)?.to).toBe('2001-04-19');
  expect(chosenDays({ tenant: 'TX', to: '2001-02-03' }, facts)?.from).toBe('2000-11-07');
});

it('never ends before it begins', () => {
  expect(chosenDays({ tenant: 'TX', from: '2005-01-01' }, facts)).toEqual({
    from: '2005-01-01',
    to: '2005-01-01',
  });
  expect(chosenDays({ tenant: 'TX', from: '2005-01-01' }, null)?.to).toBe('2005-01-01');
});
