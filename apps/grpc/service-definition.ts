import { fromBinary, toBinary, type DescMethod, type DescService, type Message } from '@bufbuild/protobuf';
import { ServiceError } from '../../core/errors.js';
import { RefusedRequest } from './calls/refused-request.js';
import type { MethodDefinition, ServiceDefinition } from '@grpc/grpc-js';

/** A service of the proto files as the gRPC library wants it of a server: paths, and how messages become bytes. */
export function serviceDefinition(service: DescService): ServiceDefinition {
  return Object.fromEntries(service.methods.map((method) => [method.localName, { ...methodDefinition(method), requestDeserialize: (bytes: Buffer) => requestOf(method, bytes) }]));
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

/** What is no such message is refused as everything is, with its code and in the log: the library alone would say little. */
function requestOf({ input }: DescMethod, bytes: Buffer): Message | RefusedRequest {
  try {
    return fromBinary(input, bytes);
  } catch {
    return new RefusedRequest(new ServiceError('BODY_INVALID', `The request is no ${input.typeName}, or is nested too deep.`));
  }
}

/** The same bytes, not a copy of them. */
function bytesOf({ buffer, byteOffset, byteLength }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, byteLength);
}
