import type { Page, PageRequest } from '../../../core/paging.js';
import type { NewPerson } from '../../../core/people/manage-people.js';
import { People, type Person, type SignInLink as LinkMessage } from '../../grpc/generated/darkroom/v1/people_pb.js';
import type { ShownPerson, SignInLink, WithSignInLink } from '../../operator/operator.js';
import { present, timeOf } from './grpc-values.js';
import type { GrpcCalls } from './grpc-calls.js';

/** People of a server elsewhere. */
export class GrpcPeople {
  constructor(private readonly calls: GrpcCalls) {}

  async create(person: NewPerson): Promise<WithSignInLink> {
    const { person: created, signInLink } = await this.calls.call(People.method.createPerson, person);
    return { person: personOf(created), ...linkOf(signInLink) };
  }

  async list(accountId: string, { limit, cursor = '' }: PageRequest): Promise<Page<ShownPerson>> {
    const { people, nextPageToken } = await this.calls.call(People.method.listPeople, {
      accountId,
      pageSize: limit,
      pageToken: cursor,
    });
    return { items: people.map(personOf), ...(nextPageToken === '' ? {} : { nextCursor: nextPageToken }) };
  }

  async disable(personId: string): Promise<ShownPerson> {
    return personOf((await this.calls.call(People.method.disablePerson, { personId })).person);
  }

  async enable(personId: string): Promise<ShownPerson> {
    return personOf((await this.calls.call(People.method.enablePerson, { personId })).person);
  }

  async reset(personId: string): Promise<WithSignInLink> {
    const { person, signInLink } = await this.calls.call(People.method.resetPerson, { personId });
    return { person: personOf(person), ...linkOf(signInLink) };
  }

  async promote(personId: string): Promise<ShownPerson> {
    return personOf((await this.calls.call(People.method.promotePerson, { personId })).person);
  }

  async demote(personId: string): Promise<ShownPerson> {
    return personOf((await this.calls.call(People.method.demotePerson, { personId })).person);
  }
}

function personOf(person: Person | undefined): ShownPerson {
  const { personId, accountId, email, createTime, disableTime, lastSignInTime, promoteTime, hasPassword, passkeys } =
    present(person);
  return {
    personId,
    accountId,
    email,
    createdAt: timeOf(createTime),
    ...(disableTime === undefined ? {} : { disabledAt: timeOf(disableTime) }),
    ...(lastSignInTime === undefined ? {} : { lastSignInAt: timeOf(lastSignInTime) }),
    ...(promoteTime === undefined ? {} : { operatorSince: timeOf(promoteTime) }),
    hasPassword,
    passkeyCount: passkeys,
  };
}

function linkOf(link: LinkMessage | undefined): { readonly link?: SignInLink } {
  return link === undefined ? {} : { link: { path: link.path, expiresAt: timeOf(link.expireTime) } };
}
