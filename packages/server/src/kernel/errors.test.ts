import { expect, test, vi } from 'vitest';
import { AppError } from './errors.ts';

test('an error of another copy of the class is of this one, too, and no other error is', async () => {
  vi.resetModules();
  const copy = (await import('./errors.ts')).AppError;
  expect(copy).not.toBe(AppError);
  const error: unknown = new copy('export_not_found', { detail: 'Gone.' });
  if (!(error instanceof AppError)) throw new Error('the copy is another class');
  expect([error.code, error.exitCode]).toEqual(['export_not_found', 3]);
  expect(new AppError('export_not_found')).toBeInstanceOf(copy);
  expect(new Error('export_not_found')).not.toBeInstanceOf(AppError);
  expect({ name: 'AppError' }).not.toBeInstanceOf(AppError);
});
