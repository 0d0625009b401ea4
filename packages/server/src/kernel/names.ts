// With these, two names look alike: what shows nothing, what turns the direction of writing, and spaces at the ends.
const hidden =
  /[\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]|^\p{White_Space}|\p{White_Space}$/u;

/**
 * Whether a name of a tenant or a store holds something that cannot be seen. New names must not; what is stored under
 * such a name from before is read and goes on as any other.
 */
export function isHiddenName(name: string): boolean {
  return hidden.test(name);
}

export const hiddenNameRule =
  'a new name has no characters that cannot be seen or turn the direction of writing, and no spaces at its ends';
