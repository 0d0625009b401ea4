import { expect, test, vi } from 'vitest';
import { createBatcher } from './batcher.ts';
import { AppError } from './errors.ts';

/** A batcher that notes what it does and waits to be told the end of each batch. */
function createNoted({ mostWeight = 10, fewCallers = 1 } = {}) {
  const batches: string[][] = [];
  const ends: ((results: (string | null)[] | Error) => void)[] = [];
  const begin = (items: readonly string[]) =>
    new Promise<(string | null)[]>((resolve, reject) => {
      batches.push([...items]);
      ends.push((results) => (results instanceof Error ? reject(results) : resolve(results)));
    });
  const batcher = createBatcher<string, string>({
    alone: async (item) => (await begin([item]))[0] ?? '',
    together: begin,
    weigh: (item) => item.length,
    mostWeight,
    fewCallers,
  });
  return {
    run: (item: string) => batcher.run(item),
    batches,
    end: (n: number, results: (string | null)[] | Error) => ends[n]?.(results),
  };
}

test('work begins at once when nothing is under way, and otherwise together with the rest', async () => {
  const { run, batches, end } = createNoted();
  const first = run('a');
  expect(batches).toEqual([['a']]);
  const others = [run('b'), run('c')];
  expect(batches).toEqual([['a']]);
  end(0, ['A']);
  expect(await first).toBe('A');
  await vi.waitFor(() => expect(batches).toEqual([['a'], ['b', 'c']]));
  end(1, ['B', 'C']);
  expect(await Promise.all(others)).toEqual(['B', 'C']);
  const last = run('d');
  expect(batches).toHaveLength(3);
  end(2, ['D']);
  expect(await last).toBe('D');
});

test('a batch that fails is done again, each caller alone, and fails only those that fail then', async () => {
  const { run, batches, end } = createNoted();
  const first = run('a');
  const [good, bad] = [run('b'), run('c')];
  end(0, ['A']);
  await first;
  await vi.waitFor(() => expect(batches).toHaveLength(2));
  end(1, new Error('both'));
  await vi.waitFor(() => expect(batches).toEqual([['a'], ['b', 'c'], ['b'], ['c']]));
  end(2, ['B']);
  end(3, new Error('c alone'));
  expect(await good).toBe('B');
  await expect(bad).rejects.toThrow('c alone');
});

test('work without a result in its batch is done alone', async () => {
  const { run, batches, end } = createNoted();
  void run('a');
  const others = [run('b'), run('c')];
  end(0, ['A']);
  await vi.waitFor(() => expect(batches).toHaveLength(2));
  end(1, ['B', null]);
  await vi.waitFor(() => expect(batches[2]).toEqual(['c']));
  end(2, ['C']);
  expect(await Promise.all(others)).toEqual(['B', 'C']);
});

test('a batch whose outcome is not known, as when the database is gone, is not done again', async () => {
  const { run, batches, end } = createNoted();
  const first = run('a');
  const others = Promise.allSettled([run('b'), run('c')]);
  end(0, ['A']);
  await first;
  await vi.waitFor(() => expect(batches).toHaveLength(2));
  const gone = new AppError('database_unavailable', {});
  end(1, gone);
  expect((await others).map((one) => one.status === 'rejected' && one.reason)).toEqual([
    gone,
    gone,
  ]);
  expect(batches).toHaveLength(2);
});

test('while few are served, the next begins at once', async () => {
  const { run, batches, end } = createNoted({ fewCallers: 2 });
  const all = ['a', 'b', 'c', 'd'].map(run);
  expect(batches).toEqual([['a'], ['b']]);
  end(1, ['B']);
  await vi.waitFor(() => expect(batches).toEqual([['a'], ['b'], ['c', 'd']]));
  end(0, ['A']);
  await all[0];
  void run('e');
  expect(batches).toHaveLength(3);
  end(2, ['C', 'D']);
  expect(await Promise.all(all)).toEqual(['A', 'B', 'C', 'D']);
});

test('a batch has at most its weight, and what weighs more goes by itself', async () => {
  const { run, batches, end } = createNoted({ mostWeight: 4 });
  void run('a');
  for (const item of ['bb', 'cc', 'd', 'eeeeeeee', 'f']) void run(item);
  for (let n = 0; n < 4; n += 1) {
    await vi.waitFor(() => expect(batches.length).toBeGreaterThan(n));
    end(n, batches[n] ?? []);
  }
  await vi.waitFor(() => expect(batches).toHaveLength(5));
  expect(batches).toEqual([['a'], ['bb', 'cc'], ['d'], ['eeeeeeee'], ['f']]);
});

test('a failure of one that is alone lets the next begin', async () => {
  const { run, batches, end } = createNoted();
  const first = run('a');
  const next = run('b');
  end(0, new Error('no'));
  await expect(first).rejects.toThrow('no');
  await vi.waitFor(() => expect(batches).toHaveLength(2));
  end(1, ['B']);
  expect(await next).toBe('B');
});

test('nobody waits long for work that hangs', async () => {
  vi.useFakeTimers();
  try {
    const { run, batches, end } = createNoted();
    const hanging = run('a');
    const next = run('b');
    await vi.advanceTimersByTimeAsync(60);
    expect(batches).toEqual([['a'], ['b']]);
    end(1, ['B']);
    expect(await next).toBe('B');
    const third = run('c');
    await vi.advanceTimersByTimeAsync(0);
    expect(batches).toHaveLength(3);
    end(2, ['C']);
    end(0, ['A']);
    expect(await Promise.all([hanging, third])).toEqual(['A', 'C']);
  } finally {
    vi.useRealTimers();
  }
});
