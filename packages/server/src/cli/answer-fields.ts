import { apiContract } from '../contract.ts';

/**
 * The names of the members of what each route answers, by `GET /exports/:id`, and of the rows in each of its lists, by
 * `GET /exports data`. `npm run build` puts the names themselves in the place of this module, because the command line
 * starts sooner without the schemas.
 */
export const answerFields: Readonly<Record<string, readonly string[]>> = Object.fromEntries(
  Object.values(apiContract).flatMap(({ method, path, responses }) => {
    const route = `${method} ${path}`;
    const answers = responses as unknown as Responses;
    const schema = (answers[200] ?? answers[201] ?? answers[202])?.schema;
    const members = Object.entries(schema?.properties ?? {});
    return [
      [route, members.map(([name]) => name)],
      ...members.flatMap(([name, { items }]) =>
        items?.properties === undefined
          ? []
          : [[`${route} ${name}`, Object.keys(items.properties)]],
      ),
    ];
  }),
);

type Responses = Readonly<Record<number, { schema?: Schema } | undefined>>;
type Schema = { properties?: Readonly<Record<string, Schema>>; items?: Schema };
