import { ServiceError } from '../../../../core/errors.js';
import type { JsonObject } from '../../../../core/json.js';
import type { SignedIn } from '../../../../core/people/sessions.js';
import type { WithSignInLink } from '../../../operator/operator.js';
import { isoTime, moreJson, personJson } from '../../../operator/records.js';
import type { OperatorOperation } from './operator-operation.js';

/** A person, with the link that signs them in once, if they have one. */
export function withLink({ person, link }: WithSignInLink, publicUrl: string): object {
  return {
    person: personJson(person),
    ...(link === undefined
      ? {}
      : { sign_in_link: publicUrl + link.path, sign_in_link_expires_at: isoTime(link.expiresAt) }),
  };
}

const SCHEMA = {
  type: 'object',
  additionalProperties: false,
  required: ['email'],
  properties: { email: { type: 'string', minLength: 1, maxLength: 254 } },
} as const satisfies JsonObject;

/** A person without a password, with a link that this answer alone has. */
export const createPerson: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/people',
  act: 'create a person',
  body: { schema: SCHEMA },
  async answer({ publicUrl }, { ctx, operator, body, act }) {
    const { email } = body as unknown as { readonly email: string };
    const created = await operator.createPerson({ accountId: ctx.params['account_id'] ?? '', email });
    act.note({ personId: created.person.personId });
    return withLink(created, publicUrl());
  },
};

export const listPeople: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id/people',
  act: 'list the people of an account',
  async answer(_parts, { ctx, operator, page }) {
    const people = await operator.listPeople(ctx.params['account_id'] ?? '', page);
    return { people: people.items.map(personJson), ...moreJson(people) };
  },
};

/** The id of a person: nobody locks themselves out by a click in the wrong row. Throws CONFLICT. */
export function requireOther(personId = '', { person }: SignedIn): string {
  if (personId.toLowerCase() === person.personId)
    throw new ServiceError('CONFLICT', 'This is you; another operator, or the command line, can do it.');
  return personId;
}

export const disablePerson: OperatorOperation = {
  method: 'POST',
  path: '/people/:person_id/disable',
  act: 'disable a person',
  async answer(_parts, { ctx, signedIn, operator, act }) {
    const personId = requireOther(ctx.params['person_id'], signedIn);
    const person = await operator.disablePerson(personId);
    act.note({ accountId: person.accountId });
    return { person: personJson(person) };
  },
};

export const enablePerson: OperatorOperation = {
  method: 'POST',
  path: '/people/:person_id/enable',
  act: 'enable a person',
  async answer(_parts, { ctx, operator, act }) {
    const person = await operator.enablePerson(ctx.params['person_id'] ?? '');
    act.note({ accountId: person.accountId });
    return { person: personJson(person) };
  },
};

/** With a link that this answer alone has. An operator is none afterwards. */
export const resetPerson: OperatorOperation = {
  method: 'POST',
  path: '/people/:person_id/reset',
  act: 'reset a person',
  async answer({ publicUrl }, { ctx, signedIn, operator, act }) {
    const personId = requireOther(ctx.params['person_id'], signedIn);
    const reset = await operator.resetPerson(personId);
    act.note({ accountId: reset.person.accountId });
    return withLink(reset, publicUrl());
  },
};
