import { ServiceError } from '../../../../core/errors.js';
import type { JsonObject } from '../../../../core/json.js';
import type { OperatorClient } from '../../../operator/operator.js';
import { idIn, type OperatorCall, type OperatorOperation } from './operator-operation.js';

const NEW_PERSON = {
  type: 'object',
  additionalProperties: false,
  required: ['email'],
  properties: { email: { type: 'string', minLength: 1, maxLength: 254 } },
} as const satisfies JsonObject;

/** A person without a password, with a link that only this answer has. */
const createPerson: OperatorOperation = {
  method: 'POST',
  path: '/accounts/:account_id/people',
  act: 'create a person',
  body: { schema: NEW_PERSON },
  async answer({ publicUrl }, { ctx, operator, body, act, json }) {
    const { email } = body as unknown as { readonly email: string };
    const created = await operator.people.createPerson({ accountId: idIn(ctx, 'account_id'), email });
    act.note({ personId: created.person?.personId });
    return withLink(created, publicUrl(), json);
  },
};

const listPeople: OperatorOperation = {
  method: 'GET',
  path: '/accounts/:account_id/people',
  act: 'list the people of an account',
  answer: (_parts, { ctx, operator, paging }) =>
    operator.people.listPeople({ accountId: idIn(ctx, 'account_id'), ...paging }),
};

const disablePerson: OperatorOperation = {
  method: 'POST',
  path: '/people/:person_id/disable',
  act: 'disable a person',
  async answer(_parts, call) {
    const disabled = await call.operator.people.disablePerson({ personId: otherPerson(call) });
    call.act.note({ accountId: disabled.person?.accountId });
    return disabled;
  },
};

const enablePerson: OperatorOperation = {
  method: 'POST',
  path: '/people/:person_id/enable',
  act: 'enable a person',
  async answer(_parts, { ctx, operator, act }) {
    const enabled = await operator.people.enablePerson({ personId: idIn(ctx, 'person_id') });
    act.note({ accountId: enabled.person?.accountId });
    return enabled;
  },
};

/** Resets a person. Only the response contains the link. An operator loses that role. */
const resetPerson: OperatorOperation = {
  method: 'POST',
  path: '/people/:person_id/reset',
  act: 'reset a person',
  async answer({ publicUrl }, call) {
    const reset = await call.operator.people.resetPerson({ personId: otherPerson(call) });
    call.act.note({ accountId: reset.person?.accountId });
    return withLink(reset, publicUrl(), call.json);
  },
};

/**
 * The person in the path. Throws CONFLICT for the operator, so that operators cannot lock themselves out by a wrong
 * click.
 */
function otherPerson({ ctx, signedIn }: OperatorCall): string {
  const personId = idIn(ctx, 'person_id');
  if (personId.toLowerCase() === signedIn.person.personId)
    throw new ServiceError('CONFLICT', 'This is you; another operator, or the command line, can do it.');
  return personId;
}

type WithSignInLink = Awaited<ReturnType<OperatorClient['people']['resetPerson']>>;

/** A person, with the link that signs them in once, if they have one. */
function withLink(
  { person, signInLink }: Pick<WithSignInLink, 'person' | 'signInLink'>,
  publicUrl: string,
  { messageJson }: OperatorCall['json'],
): object {
  return {
    person: messageJson(person),
    ...(signInLink === undefined
      ? {}
      : {
          sign_in_link: publicUrl + signInLink.path,
          sign_in_link_expires_at: messageJson(signInLink)['expires_at'],
        }),
  };
}

/** The people of an account. */
export const PEOPLE_OPERATIONS: readonly OperatorOperation[] = [
  listPeople,
  createPerson,
  disablePerson,
  enablePerson,
  resetPerson,
];
