/** A name in a body that the page sends. */
export const NAME = { type: 'string', minLength: 1, maxLength: 100 } as const;
export const NAME_WORDING = { '/name': 'A name must have 1 to 100 characters.' } as const;
