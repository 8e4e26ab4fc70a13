# Players of a run on Nomad (docs/FLEET.md); the link is a variable of Nomad's:
#   nomad var put nomad/jobs/chessbrain-player link=chessbrain://...
#   nomad job run scripts/fleet/player.nomad.hcl
job "chessbrain-player" {
  type = "service"
  group "players" {
    count = 2
    ephemeral_disk {
      sticky  = true
      migrate = true
      size    = 2000
    }
    task "player" {
      driver       = "exec"
      kill_timeout = "60s"
      template {
        data        = "LINK={{ with nomadVar \"nomad/jobs/chessbrain-player\" }}{{ .link }}{{ end }}"
        destination = "secrets/link.env"
        env         = true
      }
      config {
        command = "/usr/local/bin/chessbrain"
        args    = ["selfplay", "--join", "${LINK}", "--run-dir", "${NOMAD_ALLOC_DIR}/data/player"]
      }
      resources {
        cores  = 2
        memory = 2048
      }
    }
  }
}
