import {
  type DescMessage,
  type DescMethod,
  type DescService,
  fromBinary,
  type Message,
  toBinary,
} from '@bufbuild/protobuf';
import { configureTextEncoding, getTextEncoding } from '@bufbuild/protobuf/wire';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';
import { type ErrorCode, ServiceError } from '../../core/errors.js';
import { MAX_BODY_NODES } from '../http/host/http-context.js';
import { keptBytes } from './generations.js';
import { bytesFault, withByteSize } from './request-bytes.js';
import { RefusedRequest } from './serve-call.js';

const TEXT = new TextDecoder('utf-8', { ignoreBOM: true });
const STRICT_TEXT = new TextDecoder('utf-8', { ignoreBOM: true, fatal: true });

/**
 * Left to itself the library takes a byte order mark off the beginning of every text, and a prompt would not be what
 * was sent.
 */
configureTextEncoding({
  ...getTextEncoding(),
  decodeUtf8: (bytes, strict) => (strict === true ? STRICT_TEXT : TEXT).decode(bytes),
});

/** A service of the proto files as the gRPC library wants it of a server: paths, and how messages become bytes. */
export function serviceDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(
    service.methods.map((method) => [
      method.localName,
      {
        ...methodDefinition(method),
        requestDeserialize: (bytes: Buffer) => requestOf(method, bytes),
        responseSerialize: (message: Message) => bytesOf(keptBytes(message) ?? toBinary(method.output, message)),
      },
    ]),
  );
}

export function methodDefinition(method: DescMethod): MethodDefinition<Message, Message> {
  const { input, output, methodKind } = method;
  return {
    path: `/${method.parent.typeName}/${method.name}`,
    requestStream: methodKind === 'client_streaming' || methodKind === 'bidi_streaming',
    responseStream: methodKind === 'server_streaming' || methodKind === 'bidi_streaming',
    requestSerialize: (message) => bytesOf(toBinary(input, message)),
    requestDeserialize: (bytes) => fromBinary(input, bytes),
    responseSerialize: (message) => bytesOf(toBinary(output, message)),
    responseDeserialize: (bytes) => fromBinary(output, bytes),
  };
}

/**
 * A member of an object is four fields on the wire and an item of a list is two, so this leaves room for the largest
 * body.
 */
const MAX_FIELDS = 2 * MAX_BODY_NODES + 100;

/**
 * An invalid message is refused like any other request, with a code and a line in the log; the library alone would
 * report little.
 */
function requestOf({ input }: DescMethod, bytes: Buffer): Message | RefusedRequest {
  return withByteSize(checked(input, bytes), bytes.byteLength);
}

function checked(input: DescMessage, bytes: Buffer): Message | RefusedRequest {
  switch (bytesFault(input, bytes, MAX_FIELDS)) {
    case 'too many fields':
      return refused('BODY_INVALID', `The request must hold at most ${MAX_BODY_NODES} names and values.`);
    case 'malformed':
      return notOf(input);
    // Over REST it is an unknown field as well.
    case 'a member named __proto__':
      return refused('FIELD_INVALID', 'unknown field "__proto__": no member of an object may have this name.');
    case undefined:
      return decoded(input, bytes);
  }
}

function decoded(input: DescMessage, bytes: Buffer): Message | RefusedRequest {
  try {
    return fromBinary(input, bytes);
  } catch {
    return notOf(input);
  }
}

function notOf({ typeName }: DescMessage): RefusedRequest {
  return refused('BODY_INVALID', `The request is no ${typeName}, or is nested too deep.`);
}

function refused(code: ErrorCode, message: string): RefusedRequest {
  return new RefusedRequest(new ServiceError(code, message));
}

/** The same bytes, not a copy of them. */
function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
