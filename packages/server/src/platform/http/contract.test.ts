import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { routesUnder } from './contract.ts';
import { problem } from './schemas.contract.ts';

const read = { summary: 'Read', scope: 'any', responses: { 200: { description: 'It.' } } } as const;

test('a route is named by its key and stands under its heading, or under one of its own', () => {
  const { getThing, getOther } = routesUnder('Things', {
    getThing: { ...read, route: 'GET /things' },
    getOther: { ...read, route: 'GET /others', tag: 'Others' },
  });
  expect([getThing.id, getThing.tag]).toEqual(['getThing', 'Things']);
  expect([getOther.id, getOther.tag]).toEqual(['getOther', 'Others']);
  expect(getThing).not.toHaveProperty('params');
  expect(Object.keys(getThing.responses)).toEqual(['200']);
});

test('the parameters in a path are text, and may name what is not there', () => {
  const { getPart } = routesUnder('Things', {
    getPart: { ...read, route: 'GET /things/:id/parts/:number' },
  });
  const texts = Type.Object({ id: Type.String(), number: Type.String() });
  expect(getPart.params).toEqual(texts);
  expect(getPart.responses).toEqual({ ...read.responses, 404: problem });
});
