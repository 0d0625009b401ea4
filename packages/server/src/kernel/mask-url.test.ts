import { expect, test } from 'vitest';
import { maskUrl } from './mask-url.ts';

test.each([
  ['https://hooks.example/in', 'https://hooks.example/in'],
  ['https://hooks.example/in?key=s3cret&x=1#top', 'https://hooks.example/in?…'],
  ['https://me:s3cret@hooks.example:8443/a@b', 'https://…@hooks.example:8443/a@b'],
  ['https://hooks.example?a@b', 'https://hooks.example?…'],
])('%s is shown as %s', (url, shown) => {
  expect(maskUrl(url)).toBe(shown);
});
