import type { MessageInitShape } from '@bufbuild/protobuf';
import type { Call, Erasing, Identity, Machine, Money } from '../../core/context.js';
import { erasePerson } from '../../core/erasure/request-erasure.js';
import { createPerson, disablePerson, enablePerson, resetPerson } from '../../core/people/manage-people.js';
import { demotePerson, promotePerson } from '../../core/people/operators.js';
import type { Person } from '../../core/people/person.js';
import { createSignInLink, renewSignInLink } from '../../core/people/sign-in.js';
import { signInPath } from '../sign-in-link.js';
import { pageOfAccount, renderErasure } from './access.js';
import { timestamp } from './enums.js';
import {
  type CreatePersonResponseSchema,
  People,
  type PersonSchema,
  type SignInLinkSchema,
} from './generated/darkroom/v1/people_pb.js';
import { plain, readUuid, type ServedMethod } from './method.js';

const { method } = People;

/** The people of an account, for operators. */
export const PEOPLE_METHODS: readonly ServedMethod<Money & Identity & Erasing & Machine & Call>[] = [
  plain(method.createPerson, 'access:write', async ({ context, request: { accountId: id, email, password } }) => {
    const accountId = readUuid(id, '/account_id');
    const newPerson = { accountId, email, ...(password === '' ? {} : { password }) };
    return renderWithLink(context, await createPerson(context, newPerson));
  }),
  plain(method.listPeople, 'access:read', async ({ context, request }) => {
    const { items, nextCursor = '' } = await pageOfAccount(context, request, 'people', (accountId, page) =>
      context.people.list(accountId, page, context.call),
    );
    return { people: items.map(renderPerson), nextPageToken: nextCursor };
  }),
  plain(method.disablePerson, 'access:write', async ({ context, request }) => ({
    person: renderPerson(await disablePerson(context, idOf(request))),
  })),
  plain(method.enablePerson, 'access:write', async ({ context, request }) => ({
    person: renderPerson(await enablePerson(context, idOf(request))),
  })),
  plain(method.resetPerson, 'access:write', async ({ context, request }) =>
    renderWithLink(context, await resetPerson(context, idOf(request))),
  ),
  plain(method.createSignInLink, 'access:write', async ({ context, request }) => {
    const { person, secret, expiresAt } = await renewSignInLink(context, idOf(request));
    return { person: renderPerson(person), signInLink: renderLink(secret, expiresAt) };
  }),
  plain(method.erasePerson, 'erasure:write', async ({ context, request }) => ({
    erasure: renderErasure(await erasePerson(context, idOf(request))),
  })),
  plain(method.promotePerson, 'operators:write', async ({ context, request }) => ({
    person: renderPerson(await promotePerson(context, idOf(request))),
  })),
  plain(method.demotePerson, 'operators:write', async ({ context, request }) => ({
    person: renderPerson(await demotePerson(context, idOf(request))),
  })),
];

function idOf({ personId }: { readonly personId: string }): string {
  return readUuid(personId, '/person_id');
}

/** A person with a link that signs them in once, if they have no password and may sign in. */
async function renderWithLink(
  context: Identity & Machine & Call,
  person: Person,
): Promise<Omit<MessageInitShape<typeof CreatePersonResponseSchema>, '$typeName'>> {
  if (person.password !== undefined || person.disabledAt !== undefined) return { person: renderPerson(person) };
  const { secret, expiresAt } = await createSignInLink(context, person.personId);
  return { person: renderPerson(person), signInLink: renderLink(secret, expiresAt) };
}

function renderLink(secret: string, expiresAt: number): MessageInitShape<typeof SignInLinkSchema> {
  return { path: signInPath(secret), expireTime: timestamp(expiresAt) };
}

/** Without what they sign in with. */
function renderPerson(person: Person): MessageInitShape<typeof PersonSchema> {
  const { personId, accountId, email, createdAt, disabledAt, lastSignInAt, operatorSince, password, passkeys } = person;
  return {
    personId,
    accountId,
    email,
    createTime: timestamp(createdAt),
    disableTime: timestamp(disabledAt),
    lastSignInTime: timestamp(lastSignInAt),
    promoteTime: timestamp(operatorSince),
    hasPassword: password !== undefined,
    passkeys: passkeys.length,
  };
}
