import { loadSettings } from '../../config/settings.ts';
import { AppError } from '../../kernel/errors.ts';
import { numberOf } from '../../kernel/values.ts';
import { columnsOf } from '../columns.ts';
import { confirm } from '../confirm.ts';
import { printObject } from '../output.ts';
import { type App, openMadeApp } from '../own-app.ts';
import { createTable } from '../table.ts';
import { tenantOption, verb, yesOption } from '../verb.ts';

type Recounted = Awaited<ReturnType<App['recountRecords']>>;

export const recount = verb({
  summary: 'make counters anew that are not what they count',
  description:
    'Compares the counters of days, months, stores and tenants with the hot records and the catalogue of cold ones, makes those anew that differ, and compares once more. It works on the database of the settings itself. While the counters of a tenant are made anew, no records are stored or moved. The exit code is 1 when a difference is left.',
  examples: ['svcctl records recount --dry-run', 'svcctl records recount --tenant TX --yes'],
  options: [
    tenantOption,
    ['--dry-run', 'only tell what is wrong'],
    yesOption,
    ['--json', 'print what was wrong as JSON'],
  ],
  async act(context, options) {
    const { tenant = null, dryRun: isDry = false, yes, json } = options;
    // Settings that are wrong are told before anything is asked.
    loadSettings(context.io.env);
    if (!isDry) {
      await confirm(context, yes, {
        question: 'Make counters anew that are not what they count?',
        act: 'Recount',
      });
    }
    const { settings, app, log } = await openMadeApp(context);
    const { signal } = context.io;
    const done = await app.recountRecords(settings, log, { tenant, isDry, signal });
    if (json) await printObject(context, JSON.stringify(done), true);
    else await createTable(context, columns).write(done.problems);
    const { tenants, wrong, left } = done;
    const counters = numberOf(wrong, 'counter');
    const were = `${counters} of ${numberOf(tenants, 'tenant')}`;
    if (wrong === 0) context.note(`Right: ${numberOf(tenants, 'tenant')}, no difference.`);
    else if (isDry) context.note(`Wrong: ${were}. Without --dry-run they are made anew.`);
    else if (left === 0) context.note(`Made anew: ${were}. No difference is left.`);
    if (isDry || left === 0) return;
    throw new AppError('verify_failed', {
      detail: `${numberOf(left, 'difference')} are left after the recount. Run svcctl retention verify: it names them.`,
    });
  },
});

const { word, text } = columnsOf<Recounted['problems'][number]>();

const columns = [word('TENANT', 'tenant'), text('WRONG', 'message')];
