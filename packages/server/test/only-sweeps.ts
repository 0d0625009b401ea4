import { beforeEach } from 'vitest';

/** In `npm run test:slow`: of a file that `npm test` runs, only the tests that have more cases or runs here. */
beforeEach(({ task, skip }) => {
  const isSlow = /\.slow\.|e2e\/slow\//.test(task.file.filepath);
  if (!isSlow && !task.tags?.includes('sweep')) skip();
});
