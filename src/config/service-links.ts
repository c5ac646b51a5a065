/**
 * Whether Kubernetes means the variable, and not Carrel's operator. It is set in every container beside a service that is
 * called carrel, or carrel-something
 * (https://kubernetes.io/docs/tutorials/services/connect-applications-service/#environment-variables).
 */
export const isServiceLink = (key: string, value: string): boolean =>
  /_SERVICE_(HOST|PORT(_\w+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/.test(key) ||
  (key.endsWith('_PORT') && /^(tcp|udp|sctp):\/\//.test(value))
