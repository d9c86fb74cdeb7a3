-- Health of Infrastructure `cluster` in Argo CD: has the cluster the topology that Git requests?
-- It goes by the record of the cluster topology operator, status.topologyTransition, and uses no library of Lua.
-- docs/gitops.md says how to install it; docs/examples/gitops/flux/topology.yaml answers the same in CEL.

local function part(value, name)
  if type(value) == "table" then return value[name] end
  return nil
end

local function health(status, message)
  return { status = status, message = message }
end

local desired = part(obj.spec, "desiredTopology")
local current = part(obj.status, "controlPlaneTopology")
local record = part(obj.status, "topologyTransition")

if current == "External" then
  if desired == nil then return health("Healthy", "The control plane is hosted") end
  return health("Degraded", "The control plane is hosted: remove spec.desiredTopology, no operator acts on it")
end

if type(record) ~= "table" then
  if desired == nil then return health("Healthy", "No topology is requested") end
  return health("Progressing", desired .. " is requested; the cluster topology operator has not answered yet")
end

local phase = record.phase
local problem = part(record, "problem")
local at_rest = phase == "Idle" or phase == "Completed"

if desired == nil and at_rest and problem == nil then
  return health("Healthy", "No topology is requested")
end

-- What an older record says is about another request.
if (record.observedGeneration or 0) < (part(obj.metadata, "generation") or 0) then
  return health("Progressing", "The cluster topology operator has not answered the newest request yet")
end

if problem ~= nil then
  local message = (part(problem, "reason") or "Problem") .. ": " .. (part(problem, "message") or "")
  if part(problem, "reason") == "Paused" then return health("Suspended", message) end
  return health("Degraded", message)
end

if at_rest and desired == current then
  return health("Healthy", "The cluster has the requested topology " .. desired)
end

local message = (phase or "Unknown phase") .. ": " .. (record.message or "")
-- Idle beside a request that it has seen: the operator does not act on this cluster, and says why.
if phase == "Unsupported" or phase == "Idle" then return health("Degraded", message) end
return health("Progressing", message)
