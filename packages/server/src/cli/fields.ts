import type { Route } from './client.ts';
import type { JsonOption } from './output.ts';

/**
 * The names that `--json a,b` may select: the members of what the route answers, or of the rows in its member `list`.
 * The contract is loaded only when names are given, because the command line starts sooner without it.
 */
export async function fieldsOf(
  json: JsonOption,
  route: Route,
  list = 'data',
): Promise<readonly string[]> {
  if (typeof json !== 'string') return [];
  const { apiContract } = await import('../contract.ts');
  const contract = Object.values(apiContract).find(
    ({ method, path }) => `${method} ${path}` === route,
  );
  const responses = (contract?.responses ?? {}) as unknown as Responses;
  const schema = (responses[200] ?? responses[201] ?? responses[202])?.schema;
  return Object.keys((schema?.properties?.[list]?.items ?? schema)?.properties ?? {});
}

type Responses = Readonly<Record<number, { schema?: Schema } | undefined>>;
type Schema = { properties?: Readonly<Record<string, Schema>>; items?: Schema };
