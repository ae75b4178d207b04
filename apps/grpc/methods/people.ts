import type { MessageInitShape } from '@bufbuild/protobuf';
import type { ShownPerson, SignInLink } from '../../operator/operator.js';
import { StoreOperator } from '../../operator/store-operator.js';
import { People, type PersonSchema, type SignInLinkSchema } from '../generated/darkroom/v1/people_pb.js';
import { plain } from '../method.js';
import { readPage } from '../pages.js';
import { timestamp } from '../render/times.js';

const { method } = People;

export const PEOPLE_METHODS = [
  plain(method.createPerson, {
    scope: 'access:write',
    async answer({ context, request: { accountId, email, password } }) {
      const { person, link } = await new StoreOperator(context).createPerson({
        accountId,
        email,
        ...(password === '' ? {} : { password }),
      });
      return { person: renderPerson(person), ...renderLink(link) };
    },
  }),
  plain(method.listPeople, {
    scope: 'access:read',
    async answer({ context, request }) {
      const { items, nextCursor = '' } = await new StoreOperator(context).listPeople(
        request.accountId,
        readPage(request),
      );
      return { people: items.map(renderPerson), nextPageToken: nextCursor };
    },
  }),
  plain(method.disablePerson, {
    scope: 'access:write',
    answer: async ({ context, request: { personId } }) => ({
      person: renderPerson(await new StoreOperator(context).disablePerson(personId)),
    }),
  }),
  plain(method.enablePerson, {
    scope: 'access:write',
    answer: async ({ context, request: { personId } }) => ({
      person: renderPerson(await new StoreOperator(context).enablePerson(personId)),
    }),
  }),
  plain(method.resetPerson, {
    scope: 'access:write',
    async answer({ context, request: { personId } }) {
      const { person, link } = await new StoreOperator(context).resetPerson(personId);
      return { person: renderPerson(person), ...renderLink(link) };
    },
  }),
  plain(method.promotePerson, {
    scope: 'operators:write',
    answer: async ({ context, request: { personId } }) => ({
      person: renderPerson(await new StoreOperator(context).promotePerson(personId)),
    }),
  }),
  plain(method.demotePerson, {
    scope: 'operators:write',
    answer: async ({ context, request: { personId } }) => ({
      person: renderPerson(await new StoreOperator(context).demotePerson(personId)),
    }),
  }),
] as const;

function renderPerson(person: ShownPerson): MessageInitShape<typeof PersonSchema> {
  const { personId, accountId, email, createdAt, disabledAt, lastSignInAt, operatorSince, hasPassword, passkeyCount } =
    person;
  return {
    personId,
    accountId,
    email,
    createTime: timestamp(createdAt),
    ...(disabledAt === undefined ? {} : { disableTime: timestamp(disabledAt) }),
    ...(lastSignInAt === undefined ? {} : { lastSignInTime: timestamp(lastSignInAt) }),
    ...(operatorSince === undefined ? {} : { promoteTime: timestamp(operatorSince) }),
    hasPassword,
    passkeys: passkeyCount,
  };
}

function renderLink(link: SignInLink | undefined): { signInLink?: MessageInitShape<typeof SignInLinkSchema> } {
  return link === undefined ? {} : { signInLink: { path: link.path, expireTime: timestamp(link.expiresAt) } };
}
