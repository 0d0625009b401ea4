import { mkdir } from 'node:fs/promises';
import type { Settings } from '../config/settings.ts';
import { AppError } from '../kernel/errors.ts';

/** Makes the data folder unless it is there. Throws `settings_invalid` where the system refuses. */
export async function makeDataDir({ dataDir }: Pick<Settings, 'dataDir'>): Promise<void> {
  try {
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw new AppError('settings_invalid', {
      detail: `SVC_DATA_DIR: ${dataDir} cannot be used: ${(error as Error).message}. Make it, and give it to the user who runs svcctl; or set another folder.`,
      cause: error,
    });
  }
}
